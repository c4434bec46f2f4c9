import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("approov keyset", .tags(.processes), .timeLimit(.minutes(5)))
struct KeysetCommandTests {
    @Test("-list prints each key pair with the date on which it was made, in UTC")
    func list() async throws {
        let folder = try TemporaryFolder()
        let data = ["--data", folder.path("data")]
        #expect(try await Approov.run(["keyset", "-add", "ES256", "-kid", "z"] + data).exitCode == 0)
        let listed = try #require(try await Approov.run(["keyset", "-list", "--json"] + data).json() as? [[String: String]])
        let date = try #require(listed.first?["addedAt"])
        #expect(date.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        #expect(try await Approov.run(["keyset", "-list"] + data).output == "z  ES256  \(date)\n")
    }
}
