package import Testing

extension Tag {
    /// A suite that listens on loopback, or connects to it.
    @Tag package static var sockets: Self
    /// A suite that starts other processes.
    @Tag package static var processes: Self
    /// A suite that takes more than two seconds on a quiet machine.
    @Tag package static var slow: Self
}
