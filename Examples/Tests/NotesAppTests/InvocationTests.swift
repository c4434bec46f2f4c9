import Foundation
import Testing

@testable import NotesApp

@Suite struct InvocationTests {
    @Test("The app's commands and options are read")
    func commands() throws {
        #expect(try Invocation(["login"], environment: [:]).command == .login)
        #expect(try Invocation(["edit", "7", "Rye"], environment: [:]).command == .edit(7, "Rye"))
        let replay = try Invocation(["--recordings", "/r", "list"], environment: ["NOTES_API": "https://api.example.com"])
        #expect(replay.mode == .replay(URL(filePath: "/r")) && replay.command == .list && replay.api.host() == "api.example.com")
        #expect(try Invocation(["--record", "/r", "add", "Bread"], environment: [:]).mode == .record(URL(filePath: "/r")))
    }

    @Test(
        "Other command lines are refused",
        arguments: [[], ["add"], ["edit", "seven", "Rye"], ["--recordings", "list"], ["list", "all"], ["dance"]])
    func misuse(words: [String]) {
        #expect(throws: Invocation.Misuse.self) { try Invocation(words, environment: [:]) }
    }
}
