import Logging

/// What a command says on standard error beside its log: a line of text, or an event of the log if the log is JSON.
struct Remarks {
    private let logger: Logger?

    /// Makes remarks in text.
    init() { logger = nil }

    /// Makes remarks in the format of a server's log.
    /// - Parameters:
    ///   - options: The server's log options.
    ///   - logger: The server's log.
    init(_ options: LogOptions, _ logger: Logger) {
        self.logger = options.format == .json ? logger : nil
    }

    /// Writes a remark.
    /// - Parameters:
    ///   - message: The remark, without the program's name.
    ///   - level: Its level in the log.
    func note(_ message: String, level: Logger.Level = .notice) {
        guard let logger else { return Console.note("approov: \(message)") }
        logger.log(level: level, "\(message)")
    }
}
