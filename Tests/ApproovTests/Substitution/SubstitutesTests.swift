import Foundation
import Testing

@testable import Approov

@Suite struct SubstitutesTests {
    private let substitutes = Substitutes(
        texts: ["maps-key": "canary+secret/1", "short": "abcdefgh", "status": "NO_NETWORK"],
        secrets: [.init(key: "maps-key", value: "canary+secret/1"), .init(key: "short", value: "abcdefgh")])

    private func removed(_ text: String) throws -> String? {
        substitutes.removed(from: try #require(URL(string: text)))?.absoluteString
    }

    @Test("A value that is a whole query item becomes its placeholder again, and all else keeps its spelling")
    func items() throws {
        #expect(try removed("https://b.test/p?a=%41&key=canary%2Bsecret%2F1#f") == "https://b.test/p?a=%41&key=maps-key#f")
        #expect(try removed("https://b.test/p?key=canary+secret/1") == "https://b.test/p?key=maps-key")
        #expect(try removed("https://b.test/p?key=abcdefgh&x=NO_NETWORK") == "https://b.test/p?key=short&x=NO_NETWORK")
        #expect(try removed("https://b.test/abcdefg/%41?x=1#abc") == "https://b.test/abcdefg/%41?x=1#abc")
    }

    @Test(
        "A value in any other part of a URL is found, in up to three layers of encoding",
        arguments: [
            "https://b.test/canary+secret/1", "https://b.test/canary%2Bsecret%2F1", "https://b.test/?key=xcanary%2Bsecret%2F1",
            "https://b.test/?canary%2Bsecret%2F1", "https://b.test/#canary+secret/1", "https://u:canary%2Bsecret%2F1@b.test/",
            "https://b.test/?next=https%3A%2F%2Fc.test%2F%3Fkey%3Dcanary%252Bsecret%252F1",
            "https://b.test/?next=a%253Fkey%253Dcanary%25252Bsecret%25252F1", "https://b.test/%63anary+secret/1",
            "https://b.test/abcdefgh", "https://b.test/?abcdefgh", "https://b.test/#xabcdefgh",
        ])
    func elsewhere(_ text: String) throws { #expect(try removed(text) == nil) }

    @Test("A value with a space and a plus sign is found in the spelling of a form")
    func spaceAndPlus() throws {
        let substitutes = Substitutes(texts: ["k": "user a+b/c9"], secrets: [.init(key: "k", value: "user a+b/c9")])
        for text in ["https://b.test/?t=user+a%2Bb%2Fc9", "https://b.test/?next=x%3Ft%3Duser%2Ba%252Bb%252Fc9"] {
            let url = substitutes.removed(from: try #require(URL(string: text)))
            #expect(url?.absoluteString.contains("user") != true, "\(text)")
        }
    }

    @Test("If several keys have a value, it becomes the smallest of those that a query had, or else the smallest")
    func sameValue() throws {
        let secrets = (10..<60).map { Substitutes.Secret(key: "key-\($0)", value: "canary+secret/1") }
        var substitutes = Substitutes(secrets: Set(secrets))
        let url = try #require(URL(string: "https://b.test/p?key=canary%2Bsecret%2F1"))
        #expect(substitutes.removed(from: url)?.absoluteString == "https://b.test/p?key=key-10")
        substitutes.queryKeys = ["key-42", "key-37", "a-key"]
        #expect(substitutes.removed(from: url)?.absoluteString == "https://b.test/p?key=key-37")
    }

    @Test("It shows no value")
    func description() {
        var text = "\(substitutes)"
        dump(substitutes, to: &text)
        #expect(!text.contains("canary"))
    }
}
