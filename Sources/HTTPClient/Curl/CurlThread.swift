import CLibCurl
import Foundation

/// Starts the transport's thread.
enum CurlThread {
    private final class Work {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `work` on a new thread.
    ///
    /// Foundation's `Thread` does not report that a thread could not be created, and requests would then wait without limit.
    ///
    /// - Throws: ``TransportError`` with code `internalError` when the system gives no thread; `work` does not run then.
    static func start(_ work: @escaping @Sendable () -> Void) throws(TransportError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let argument = Unmanaged.passRetained(Work(work))
        var thread: pthread_t = 0
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                // Signals are for the program's own threads, and a write to a closed socket must not end the process with SIGPIPE.
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_BLOCK, &all, nil)
                clibcurl_name_thread("approov-curl")
                if let argument { Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, argument.toOpaque())
        guard code == 0 else {
            argument.release()
            throw TransportError(
                .internalError,
                "the thread could not be created: \(String(cString: strerror(code))); raise the limit of threads (ulimit -u, pids.max)")
        }
    }
}
