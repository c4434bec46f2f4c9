import APIClient
import Approov
import Foundation
import OAuth2

/// An app for notes, such as `NotesApp login` and then `NotesApp add 'Buy bread'`.
///
/// It needs `approov-initial.config` beside it or in its folder, and calls `$NOTES_API`.
@main
struct NotesApp {
    static func main() async {
        let invocation: Invocation
        do {
            invocation = try Invocation(Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment)
        } catch {
            return fail("\(error)", code: 2)
        }
        do {
            try await run(invocation)
        } catch let error as APIError where error.code == .unexpectedStatus {
            fail("the API answered \(error.response?.head.statusCode ?? 0)")
        } catch {
            fail("\(error)")
        }
    }

    private static func run(_ invocation: Invocation) async throws {
        if case .replay(let folder) = invocation.mode {
            return try await run(invocation.command, NotesClient(replaying: folder, api: invocation.api))
        }
        let state = ApproovService.defaultStateDirectory()
        let service = try ApproovService(configuration: .bundled(), stateDirectory: state)
        let account = try Account(api: invocation.api, service: service, stateDirectory: state)
        let recording: URL? = if case .record(let folder) = invocation.mode { folder } else { nil }
        let client = try NotesClient(account: account, service: service, api: invocation.api, recordingInto: recording)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await run(invocation.command, client)) } catch { outcome = .failure(error) }
        // A renewed token, and a configuration that came with an attestation token, are on disk before the process ends.
        await account.credentials.finishRenewals()
        _ = await service.finishStoring()
        try outcome.get()
    }

    private static func run(_ command: Command, _ client: NotesClient) async throws {
        switch command {
        case .login:
            try await client.logIn { page in
                // Not by print(), which keeps text for a file or pipe until the program ends.
                FileHandle.standardOutput.write(Data("Open this page in your browser:\n\(page.absoluteString)\n".utf8))
            }
            print("You are logged in.")
        case .list:
            for note in try await client.notes() { print(note) }
        case .add(let text):
            print(try await client.add(text))
        case .edit(let id, let text):
            print(try await client.edit(id, to: text))
        case .picture(let id, let file):
            let note = try await client.setPicture(of: id, toFile: file) { sent, total in
                FileHandle.standardError.write(Data("\(sent) of \(total) bytes\n".utf8))
            }
            print(note)
        case .logout:
            try await client.logOut()
            print("You are logged out.")
        }
    }

    private static func fail(_ message: String, code: Int32 = 1) {
        FileHandle.standardError.write(Data("NotesApp: \(message)\n".utf8))
        exit(code)
    }
}
