import Testing

@testable import HTTPClient

@Suite struct ProcessorShareTests {
    @Test("Two processors allow two threads, unless the container's limit is lower")
    func share() {
        #expect(!ProcessorShare.allowsTwoThreads(processors: 1, cgroupLimit: nil))
        #expect(ProcessorShare.allowsTwoThreads(processors: 2, cgroupLimit: nil))
        #expect(ProcessorShare.allowsTwoThreads(processors: 2, cgroupLimit: "max 100000\n"))
        #expect(ProcessorShare.allowsTwoThreads(processors: 8, cgroupLimit: "200000 100000\n"))
        #expect(!ProcessorShare.allowsTwoThreads(processors: 8, cgroupLimit: "150000 100000\n"))
        #expect(!ProcessorShare.allowsTwoThreads(processors: 1, cgroupLimit: "max 100000\n"))
    }

    @Test("A limit that cannot be read counts as none", arguments: ["", "many", "1 2 3", "100000 0", "-"])
    func unknown(text: String) {
        #expect(ProcessorShare.allowsTwoThreads(processors: 2, cgroupLimit: text))
    }
}
