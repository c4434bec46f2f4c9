import Testing

@testable import Attestation

@Suite struct ProcessEnvironmentTests {
    private func flags(
        status: String? = "Name:\tx\nTracerPid:\t0\nUid:\t1\n", environ: String? = "A=1\0", userID: UInt32 = 1_000
    ) -> [String] {
        ProcessEnvironment.flags(status: status.map { Array($0.utf8) }, environ: environ.map { Array($0.utf8) }, userID: userID)
    }

    @Test("An ordinary process has no flags")
    func none() {
        #expect(flags() == [])
        #expect(flags(environ: "") == [])
        #expect(flags(environ: "LD_PRELOAD=\0X_LD_PRELOAD=/a\0") == [])
    }

    @Test("A debugger, a preloaded library and the root user are flagged")
    func flagged() {
        #expect(flags(status: "TracerPid:\t4711\n") == ["debugger"])
        #expect(flags(environ: "A=1\0LD_PRELOAD=/tmp/x.so\0") == ["ld-preload"])
        #expect(flags(environ: "LD_AUDIT=/tmp/x.so\0") == ["ld-preload"])
        #expect(flags(userID: 0) == ["root"])
        #expect(flags(status: "TracerPid:\t1\n", environ: "LD_PRELOAD=x", userID: 0) == ["debugger", "ld-preload", "root"])
    }

    @Test("Process information that cannot be read is flagged as unknown")
    func unknown() {
        #expect(flags(status: nil) == ["debugger-unknown"])
        #expect(flags(status: "Name:\tx\n") == ["debugger-unknown"])
        #expect(flags(status: "TracerPid:\tx\n") == ["debugger-unknown"])
        #expect(flags(environ: nil) == ["ld-preload-unknown"])
    }

    @Test("This process has no unknown flags")
    func here() {
        #expect(!ProcessEnvironment.flags().contains { $0.hasSuffix("unknown") })
    }
}
