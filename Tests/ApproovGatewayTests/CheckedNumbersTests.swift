import Testing

@testable import ApproovGateway

@Suite struct CheckedNumbersTests {
    private func content(_ numbers: [UInt64]) -> [UInt8] {
        var writer = CheckedNumbers.Writer(count: numbers.count)
        for number in numbers { writer.add(number) }
        return writer.finish()
    }

    @Test("The numbers are read as they were written, and the content begins with the mark of the format", arguments: [0, 1, 2, 1_000])
    func written(count: Int) throws {
        let numbers = (0..<count).map { UInt64.max / UInt64($0 + 1) }
        let bytes = content(numbers)
        #expect(bytes.starts(with: Array("APVSEEN".utf8) + [1]) && bytes.count == 8 + count * 8 + 32)
        var reader = try #require(CheckedNumbers.Reader(bytes))
        #expect(reader.remaining == count)
        for number in numbers { #expect(reader.next() == number) }
        #expect(reader.remaining == 0)
        #expect(reader.next() == nil)
    }

    @Test("Content of which a byte is changed, missing or added is damaged")
    func damaged() {
        let bytes = content([1, 2])
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x80
            #expect(CheckedNumbers.Reader(changed) == nil, "\(index)")
            #expect(CheckedNumbers.Reader(Array(bytes[..<index])) == nil, "\(index)")
        }
        #expect(CheckedNumbers.Reader(bytes + [0]) == nil)
    }
}
