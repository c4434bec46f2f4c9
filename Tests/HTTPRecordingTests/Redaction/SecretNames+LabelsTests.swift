import Testing

@testable import HTTPRecording

@Suite struct SecretNamesLabelsTests {
    private func announcement(_ text: String) -> Announcement {
        SecretNames(["pet name"]).announcement(of: Array(text.utf8)[...])
    }

    @Test("A label that is the name of a secret announces everything", arguments: ["password", " API-Key\n", "Pet Name", "p&#105;n"])
    func everything(text: String) { #expect(announcement(text) == .everything) }

    @Test(
        "A label with the name of a secret in it announces what is called a value",
        arguments: ["Client Secret", "New Password", "Access Token", "cookiecutter", "user.pin", "Session 1"])
    func values(text: String) { #expect(announcement(text) == .values) }

    @Test("Other labels announce nothing", arguments: ["", "user", "USB Security Key", "token_type"])
    func nothing(text: String) { #expect(announcement(text) == .nothing) }

    @Test("Further labels of JSON announce one value at most, and a path by its last step that is no index")
    func members() {
        func announcement(_ name: String, _ text: String) -> Announcement {
            SecretNames().announcement(byMember: Array(name.utf8)[...], Array(text.utf8))
        }
        for name in ["type", "Field", "id", "header"] { #expect(announcement(name, "password") == .value) }
        for path in ["/password", "/users/7/newPassword", "/tokens/-", "/tokens/0", "password"] {
            #expect(announcement("path", path) == .value)
        }
        for path in ["/password/length", "/sessions/7/color", "", "/", "/0"] { #expect(announcement("path", path) == .nothing) }
        #expect(announcement("name", "password") == .everything && announcement("kind", "password") == .nothing)
    }

    @Test("Values are known by their names, without their prefixes")
    func valueNames() {
        for name in ["value", "Val", "s:Value", "string"] { #expect(SecretNames.isAnnounced(Array(name.utf8)[...], by: .values)) }
        for name in ["id", "name", "key", "values"] { #expect(!SecretNames.isAnnounced(Array(name.utf8)[...], by: .values)) }
        #expect(SecretNames.isAnnounced(Array("id".utf8)[...], by: .everything))
        #expect(!SecretNames.isAnnounced(Array("Key".utf8)[...], by: .everything))
        #expect(SecretNames.isAnnounced(Array("Value".utf8)[...], by: .value))
        #expect(!SecretNames.isAnnounced(Array("data".utf8)[...], by: .value))
    }
}
