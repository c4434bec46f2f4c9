import Foundation

/// What the user asks for.
enum Command: Equatable {
    case login
    case list
    case add(String)
    case edit(Int, String)
    case picture(Int, URL)
    case logout
}

/// A command line: `NotesApp [--record DIR | --recordings DIR] COMMAND`.
struct Invocation {
    /// Whether the app calls the API.
    enum Mode: Equatable {
        /// It does.
        case live
        /// It does, and records what the API answers into a folder.
        case record(URL)
        /// It does not: a folder with recordings answers.
        case replay(URL)
    }

    /// The command line is not one of the app's.
    struct Misuse: Error, CustomStringConvertible {
        let description =
            "usage: NotesApp [--record DIR | --recordings DIR] login | list | add TEXT | edit ID TEXT | picture ID FILE | logout"
    }

    let command: Command
    let mode: Mode
    let api: URL

    /// Reads a command line.
    /// - Parameters:
    ///   - arguments: The arguments, without the program's name.
    ///   - environment: `NOTES_API`, the API's URL; `https://api.localhost:9443` by default.
    /// - Throws: ``Misuse``.
    init(_ arguments: [String], environment: [String: String]) throws {
        var words = arguments
        var mode = Mode.live
        if words.count > 2, words[0] == "--record" || words[0] == "--recordings" {
            let folder = URL(filePath: words[1])
            mode = words[0] == "--record" ? .record(folder) : .replay(folder)
            words.removeFirst(2)
        }
        guard let command = Self.command(words), let api = URL(string: environment["NOTES_API"] ?? "https://api.localhost:9443") else {
            throw Misuse()
        }
        self.command = command
        self.mode = mode
        self.api = api
    }

    private static func command(_ words: [String]) -> Command? {
        switch (words.first, words.count) {
        case ("login", 1): .login
        case ("list", 1): .list
        case ("add", 2): .add(words[1])
        case ("edit", 3): Int(words[1]).map { .edit($0, words[2]) }
        case ("picture", 3): Int(words[1]).map { .picture($0, URL(filePath: words[2])) }
        case ("logout", 1): .logout
        default: nil
        }
    }
}
