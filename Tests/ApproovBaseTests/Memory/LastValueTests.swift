@_spi(Internals) import ApproovBase
import Testing

@Suite struct LastValueTests {
    @Test("A value is made once for consecutive equal keys, and again for another key")
    func reuse() {
        let last = LastValue<String, Int>()
        var made = 0
        func value(_ key: String) -> Int {
            last.value(for: key) { _ in
                made += 1
                return made
            }
        }
        #expect(["a", "a", "b", "b", "a"].map(value) == [1, 1, 2, 2, 3])
    }

    @Test("A value that must not be kept is made every time, and does not replace the last kept value")
    func unkept() {
        let last = LastValue<String, Int>()
        #expect(last.value(for: "a") { _ in 1 } == 1)
        #expect(last.value(for: "b", isKept: { _ in false }) { _ in 2 } == 2)
        #expect(last.value(for: "b", isKept: { _ in false }) { _ in 3 } == 3)
        #expect(last.value(for: "a") { _ in 4 } == 1)
    }

    @Test("A failure is thrown and not kept")
    func failure() throws {
        struct Failure: Error {}
        let last = LastValue<String, Int>()
        #expect(throws: Failure.self) { try last.value(for: "a") { _ throws(Failure) in throw Failure() } }
        #expect(last.value(for: "a") { _ in 1 } == 1)
    }
}
