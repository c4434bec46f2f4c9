import Testing

@testable import ApproovTokens

@Suite struct ConstantTimeTests {
    @Test("Bytes are equal if all of them are, and there are as many")
    func areEqual() {
        #expect(ConstantTime.areEqual([], []))
        #expect(ConstantTime.areEqual([1, 2, 3], [1, 2, 3]))
        for other: [UInt8] in [[], [1, 2], [1, 2, 3, 0], [0, 2, 3], [1, 2, 0]] { #expect(!ConstantTime.areEqual([1, 2, 3], other)) }
    }
}
