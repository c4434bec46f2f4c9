import CLibCurl
import Testing

@testable import HTTPClient

@Suite struct CurlHeaderListTests {
    private func lines(_ list: CurlHeaderList) -> [String] {
        var lines: [String] = []
        var node = list.link()
        while let line = node {
            lines.append(String(cString: line.pointee.data))
            node = line.pointee.next
        }
        return lines
    }

    private func add(_ name: String, _ value: String, to list: CurlHeaderList) {
        var value = value
        value.withUTF8 { list.add(name, ": ", $0) }
    }

    @Test("A list without lines has no first line")
    func empty() {
        #expect(CurlHeaderList().link() == nil)
    }

    @Test("Lines keep their order and their bytes, however small the list was at first")
    func growing() {
        let list = CurlHeaderList(textSize: 1, lines: 1)
        let names = (0..<100).map { "X-\($0)" }
        for name in names { add(name, String(repeating: "v", count: name.count), to: list) }
        list.add("Accept", ":")
        #expect(lines(list) == names.map { "\($0): " + String(repeating: "v", count: $0.count) } + ["Accept:"])
        // Linking again gives the same.
        #expect(lines(list).count == 101)
    }

    @Test("A list that was cleared has only the lines that were added since, and nothing of the text before")
    func cleared() {
        let list = CurlHeaderList()
        add("Authorization", "Bearer secret", to: list)
        let first = list.link()
        let text = first?.pointee.data
        list.clear()
        #expect(list.link() == nil)
        #expect(text?.pointee == 0 && text?[15] == 0)
        add("Accept", "*/*", to: list)
        #expect(lines(list) == ["Accept: */*"])
        #expect(list.link() == first)
    }

    @Test("A list that was very long works as before after it was cleared")
    func shrinking() {
        let list = CurlHeaderList()
        for _ in 0..<2 {
            add("X", String(repeating: "v", count: 2 * CurlHeaderList.keptSize), to: list)
            #expect(lines(list).map(\.utf8.count) == [2 * CurlHeaderList.keptSize + 3])
            list.clear()
        }
        #expect(list.link() == nil)
    }
}
