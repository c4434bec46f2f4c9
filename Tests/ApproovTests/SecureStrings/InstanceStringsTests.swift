import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import Approov

@Suite struct InstanceStringsTests {
    private let folder: TemporaryFolder
    private let attester = ScriptedAttester()

    init() throws { folder = try TemporaryFolder() }

    private func strings(of attester: (any Attester)? = nil, account: String = "test") -> InstanceStrings {
        InstanceStrings(
            folder: folder.file("state"), seal: ValueSeal(attester ?? self.attester, for: InstanceStrings.purpose(account: account)))
    }

    private var file: URL { folder.file("state").appending(path: InstanceStrings.fileName) }

    private func bytes() throws -> String { String(decoding: try Data(contentsOf: file), as: UTF8.self) }

    @Test("A string is stored sealed, in a file for this user alone, and read after a restart")
    func stored() throws {
        #expect(try strings().read() == nil)
        try strings().set("canary-1f3a", for: "a")
        try strings().set("canary-2b4c", for: "b")
        try strings().set("canary-3d5e", for: "a")
        let contents = try #require(try strings().read())
        #expect(try contents.value(for: "a") == "canary-3d5e")
        #expect(try contents.value(for: "b") == "canary-2b4c")
        #expect(try contents.value(for: "c") == nil)
        #expect(try !bytes().contains("canary"))
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try strings().remove("a") && !strings().remove("a"))
        #expect(try strings().read()?.value(for: "a") == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("state").path(percentEncoded: false))
        #expect(names.sorted() == [InstanceStrings.fileName, InstanceStrings.lockFileName])
    }

    @Test("The file of another installation or another account, and a value under another name, do not open")
    func foreign() throws {
        try strings().set("canary-1f3a", for: "a")
        for other in [strings(of: ScriptedAttester()), strings(account: "else")] {
            let contents = try #require(try other.read())
            let error = #expect(throws: ApproovError.self) { try contents.value(for: "a") }
            #expect(error?.code == .secureStringError && error?.message.contains("did not seal") == true)
        }
        let swapped = try bytes().replacingOccurrences(of: "\"a\"", with: "\"b\"")
        try PrivateFile(file).write(Array(swapped.utf8))
        let contents = try #require(try strings().read())
        #expect(throws: ApproovError(.secureStringError, "")) { try contents.value(for: "b") }
        // Setting it again repairs it.
        try strings().set("canary-2b4c", for: "b")
        #expect(try strings().read()?.value(for: "b") == "canary-2b4c")
    }

    @Test(
        "A damaged file is an error that names the file and no value",
        arguments: [
            "", "{", "[]", "{\"version\":1}", "{\"version\":2,\"strings\":{}}",
            "{\"version\":1,\"strings\":{\"a\":7}}", "{\"version\":1,\"strings\":{\"a\":\"canary!\"}}",
        ])
    func damaged(_ text: String) throws {
        try PrivateFile.makeFolder(path: folder.file("state").path(percentEncoded: false))
        try PrivateFile(file).write(Array(text.utf8))
        for act in [{ _ = try strings().read() }, { try strings().set("x", for: "a") }, { _ = try strings().remove("a") }] {
            let error = #expect(throws: ApproovError.self) { try act() }
            #expect(error?.code == .secureStringError && "\(error as Any)".contains(InstanceStrings.fileName))
            #expect(!"\(error as Any)".contains("canary"))
        }
        #expect(try bytes() == text)
    }

    @Test("A file that others may read, or a link, is refused")
    func unsafe() throws {
        try strings().set("x", for: "a")
        let path = file.path(percentEncoded: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: ApproovError(.secureStringError, "")) { try strings().read() }
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
        #expect(throws: ApproovError(.secureStringError, "")) { try strings().read() }
    }

    @Test(
        "A value with a line end or NUL, an empty one and one of 4,097 bytes are refused, without showing it",
        arguments: ["canary\r", "canary\n", "canary\0", "canary\r\nX-Forged: 1", "", String(repeating: "c", count: 4_097)])
    func values(_ value: String) throws {
        let error = #expect(throws: ApproovError.self) { try strings().set(value, for: "a") }
        #expect(error?.code == .secureStringError && !"\(error as Any)".contains("canary") && !"\(error as Any)".contains("cccc"))
        #expect(try strings().read() == nil)
        try strings().set(String(repeating: "c", count: 4_096), for: "a")
    }

    @Test("A malformed key is refused, without showing it", arguments: ["", "a b", "a\n", "é", String(repeating: "k", count: 65)])
    func keys(_ key: String) throws {
        for act in [{ try strings().set("x", for: key) }, { _ = try strings().remove(key) }] {
            let error = #expect(throws: ApproovError.self) { try act() }
            #expect(error?.code == .secureStringError && !"\(error as Any)".contains("kkkk"))
        }
        try strings().set("x", for: String(repeating: "k", count: 64))
    }

    @Test("An app has 64 strings at most")
    func full() throws {
        for index in 0..<InstanceStrings.maximumCount { try strings().set("x", for: "k\(index)") }
        #expect(throws: ApproovError(.secureStringError, "")) { try strings().set("x", for: "more") }
        try strings().set("y", for: "k0")
        #expect(try strings().remove("k1"))
        try strings().set("x", for: "more")
    }

    @Test("Without a secret of the attester nothing is stored, and nothing is read")
    func noSecret() throws {
        let bare = InstanceStrings(folder: folder.file("state"), seal: nil)
        #expect(throws: ApproovError(.unsupported, "")) { try bare.set("x", for: "a") }
        #expect(throws: ApproovError(.unsupported, "")) { try bare.remove("a") }
        try strings().set("x", for: "a")
        #expect(try bare.read() == nil)
    }

    @Test("Writers at the same time lose no string of one another")
    func together() async throws {
        let strings = strings()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<16 { group.addTask { try strings.set("\(index)", for: "k\(index)") } }
            try await group.waitForAll()
        }
        let contents = try #require(try strings.read())
        for index in 0..<16 { #expect(try contents.value(for: "k\(index)") == "\(index)") }
    }
}
