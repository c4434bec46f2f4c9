import ApproovBase
import Approov
import ApproovTesting
import Attestation
import Crypto
import Foundation

/// An account whose keys the test has: signs whatever configuration a test wants.
struct TestAccount: Sendable {
    static let pinA = "sha256/" + Base64.encode([UInt8](repeating: 0xA, count: 32))
    static let pinB = "sha256/" + Base64.encode([UInt8](repeating: 0xB, count: 32))
    static let authority = "https://authority.test"

    let name = "test-account"
    let key = P256.Signing.PrivateKey()
    let root: TestCertificate

    init() throws {
        root = try TestPKI.root()
    }

    func configuration(
        version: Int64 = 1, hosts: [String: HostSettings] = ["api.test": .pinned], issuedAt: Int64 = 1_749_999_000,
        expiresAt: Int64 = 1_760_000_000, epoch: Int64 = 1, managedTrustRoots: [String] = [], authorityPins: [String]? = nil,
        configKeys: [PublicJWK]? = nil, oblivious: ObliviousSettings? = nil
    ) -> DynamicConfiguration {
        DynamicConfiguration(
            account: name, epoch: epoch, version: version, issuedAt: issuedAt, expiresAt: expiresAt, hosts: hosts,
            managedTrustRoots: managedTrustRoots, oblivious: oblivious, authorityPins: authorityPins, configKeys: configKeys)
    }

    func signed(_ configuration: DynamicConfiguration) throws -> SignedConfiguration {
        try SignedConfiguration(signing: configuration, by: [key])
    }

    func initial(
        _ configuration: DynamicConfiguration? = nil, authority: String = TestAccount.authority,
        authorityPins: [String] = [TestAccount.pinA, TestAccount.pinB]
    ) throws -> InitialConfiguration {
        try InitialConfiguration(
            account: name, epoch: (configuration ?? self.configuration()).epoch, authority: URL(string: authority) ?? URL(filePath: "/"),
            authorityPins: authorityPins, trustRoots: root.pem, configKeys: [PublicJWK(key.publicKey)],
            configuration: try signed(configuration ?? self.configuration()))
    }
}

extension HostSettings {
    /// Two pins, enforced, with tokens.
    static var pinned: HostSettings { HostSettings(pins: [TestAccount.pinA, TestAccount.pinB]) }

    func with(_ change: (inout HostSettings) -> Void) -> HostSettings {
        var copy = self
        change(&copy)
        return copy
    }
}

/// A configuration store in memory whose every operation can be made to fail.
final class MemoryStore: ConfigurationStore {
    private let state: Shared<(bytes: [UInt8]?, stored: Int, setAside: Int)>
    let failure = Shared<(any Error)?>(nil)
    let readFailure = Shared<(any Error)?>(nil)
    /// How often it was to store.
    let attempts = Shared(0)

    init(_ bytes: [UInt8]? = nil) { state = Shared((bytes, 0, 0)) }

    var bytes: [UInt8]? {
        get { state.value.bytes }
        set { state.change { $0.bytes = newValue } }
    }
    var storeCount: Int { state.value.stored }
    var setAsideCount: Int { state.value.setAside }

    func read() throws -> [UInt8]? {
        if let failure = readFailure.value { throw failure }
        return bytes
    }

    func store(_ bytes: [UInt8]) throws {
        attempts.change { $0 += 1 }
        if let failure = failure.value { throw failure }
        state.change { ($0.bytes, $0.stored) = (bytes, $0.stored + 1) }
    }

    func setAside() throws { state.change { ($0.bytes, $0.setAside) = (nil, $0.setAside + 1) } }
}
