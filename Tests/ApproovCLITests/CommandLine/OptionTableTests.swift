import ArgumentParser
import Testing

@testable import ApproovCLI

@Suite struct OptionTableTests {
    @Test("The table has every spelling of a command's options, and says which take a value")
    func entries() throws {
        let table = try #require(OptionTable(of: APICommand.self))
        let (add, twoDashes) = (try #require(table["-add"]), try #require(table["--add"]))
        #expect(add.number == twoDashes.number && add.takesValue && !add.isRepeating)
        #expect(try #require(table["-pin"]).isRepeating)
        #expect(try #require(table["-list"]).takesValue == false)
        #expect(table["-h"] != nil && table["--help"] != nil && table["-lst"] == nil)
        #expect(table.names.contains("--trustRoots"))
    }

    @Test(
        "Options are found, known or not, and values and words after -- are not",
        arguments: [
            (["-d", "-secret", "-v"], ["-d", "-v"]), (["--state=-secret", "-x"], ["--state", "-x"]), (["-v", "-i", "url"], ["-v", "-i"]),
            (["-unknown", "-x"], ["-unknown", "-x"]), (["url", "--", "-d"], []), (["-d", "--", "-v"], ["-d"]), (["-d"], ["-d"]),
            (["-iv", "-vd", "-secret", "-X"], ["-i", "-v", "-v", "-d", "-X"]), (["-dsecret", "-v"], ["-dsecret", "-v"]),
        ] as [([String], [String])])
    func options(words: [String], options: [String]) throws {
        #expect(try #require(OptionTable(of: CallCommand.self)).options(in: words) == options)
    }

    @Test("A value right behind an option of one letter is found, also behind flags")
    func letterBeforeValue() throws {
        let table = try #require(OptionTable(of: CallCommand.self))
        for (option, letter) in [("-dsecret", "-d"), ("-ivHsecret", "-H"), ("-d{1}", "-d"), ("-X…", "-X")] {
            #expect(table.letterBeforeValue(in: option) == letter)
        }
        for option in ["-d", "-i", "-insecure", "--data", "-secret", "-", ""] { #expect(table.letterBeforeValue(in: option) == nil) }
        #expect(table.longestPrefix(of: "--pin:secret") == "--pin" && table.longestPrefix(of: "--pin") == nil)
        #expect(table.longestPrefix(of: "-insecure") == nil)
    }
}
