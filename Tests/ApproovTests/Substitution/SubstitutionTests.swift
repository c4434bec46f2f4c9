import Approov
import ApproovTesting
import Testing

@Suite struct SubstitutionTests {
    @Test("Hosts are kept in canonical form")
    func hosts() throws {
        let substitution = try Substitution(hosts: ["API.test.", "127.0.0.1"], headers: ["Api-Key": ""])
        #expect(substitution.hosts == ["api.test", "127.0.0.1"])
    }

    @Test("Missing hosts and places, patterns, malformed names, and headers that the transport writes are refused")
    func refused() {
        for make in [
            { try Substitution(hosts: [], headers: ["Api-Key": ""]) }, { try Substitution(hosts: ["api.test"]) },
            { try Substitution(hosts: ["*.test"], headers: ["Api-Key": ""]) },
            { try Substitution(hosts: ["**"], headers: ["Api-Key": ""]) },
            { try Substitution(hosts: ["a b"], headers: ["Api-Key": ""]) }, { try Substitution(hosts: [""], headers: ["Api-Key": ""]) },
            { try Substitution(hosts: ["api.test"], headers: ["Api Key": ""]) },
            { try Substitution(hosts: ["api.test"], headers: [":path": ""]) },
            { try Substitution(hosts: ["api.test"], headers: ["Host": ""]) },
            { try Substitution(hosts: ["api.test"], headers: ["Content-Length": ""]) },
            { try Substitution(hosts: ["api.test"], headers: ["Api-Key": "a\r\n"]) },
            { try Substitution(hosts: ["api.test"], headers: ["Api-Key": "", "api-key": "x"]) },
            { try Substitution(hosts: ["api.test"], queryParameters: [""]) },
        ] {
            #expect(throws: ApproovError(.initializationError, "")) { try make() }
        }
    }
}
