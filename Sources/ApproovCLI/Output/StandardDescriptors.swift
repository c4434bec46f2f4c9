import Glibc

/// Standard input, output and error.
enum StandardDescriptors {
    /// Opens those that are closed.
    ///
    /// Otherwise the next file or socket would take the place of one, and results or log lines would be written into it. They are opened
    /// for reading only, so that a write to a closed output still fails.
    static func reserve() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The system gives the lowest free number, which is this one.
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
