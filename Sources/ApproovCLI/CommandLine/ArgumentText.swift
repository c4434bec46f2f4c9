/// The arguments as the system gave them.
enum ArgumentText {
    /// Refuses an argument that is not UTF-8: Swift replaces its bytes by other characters, so another value would be stored or sent.
    /// - Throws: `CommandFailure`, which does not contain the argument.
    static func check() throws {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index], String(validatingCString: argument) == nil else { continue }
            throw CommandFailure(
                "argument \(index) is not text (UTF-8); correct it, or give a value of other bytes in a file, where the option takes @FILE",
                exitCode: CommandFailure.usage)
        }
    }
}
