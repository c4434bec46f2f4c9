import AllocationCounter
import Crypto
import Foundation
import OHTTP

/// (h) A client's part of one exchange, a request sealed and its response opened, beside the bare operations of swift-crypto in it.
///
/// The two take turns call by call, and a round's figure is the median of its calls: what else the machine does falls on both alike. The
/// gateway's part between the two halves of a call is not counted.
struct OHTTPBenchmark {
    static let client = "OHTTP client"
    static let bare = "bare HPKE, HKDF and AEAD"
    static let pages = "pages mapped for an exchange"
    static let scenarios = scenariosOfDefaults + sizes.map { scenario($0) + ", memory kept" }
    /// Those with glibc's defaults.
    static let scenariosOfDefaults = sizes.map { scenario($0) }
    private static let sizes = [205, 1024, 16 * 1024, 256 * 1024, 1024 * 1024]
    private static let names = [client, bare]

    private static func scenario(_ size: Int) -> String { "exchange, \(size) B each way" }

    let options: Options

    func run() async throws -> [Figure] {
        let key = try GatewayKey(id: 1, suites: [.aes128GCM])
        let keyring = try GatewayKeyring([key])
        let bare = try BareExchange(publicKey: key.configuration.publicKey)
        var figures = try Self.sizes.flatMap { size in
            try compare(size, Self.scenario(size), key, keyring, bare) + [pages(size, key, keyring)]
        }
        // By default glibc gives large buffers back to the system, or keeps them, depending on what was freed before: by one subject, to
        // the cost of the other. Here everything is kept, and what is compared is their work.
        allocation_keep_memory()
        figures += try Self.sizes.flatMap { try compare($0, Self.scenario($0) + ", memory kept", key, keyring, bare) }
        return figures
    }

    private func compare(
        _ size: Int, _ scenario: String, _ key: GatewayKey, _ keyring: GatewayKeyring, _ bare: BareExchange
    ) throws -> [Figure] {
        let message = [UInt8](repeating: 0x61, count: size)
        return try alternate(
            scenario: scenario,
            [
                { stopwatch in
                    let sealed = try stopwatch.measure { try Sealed(key.configuration, message) }
                    let response = try answer(sealed.message, keyring, message)
                    blackHole(try stopwatch.measure { try sealed.open(response) })
                },
                { stopwatch in
                    let sealed = try stopwatch.measure { try bare.seal(message) }
                    let response = try answer(bare.message(sealed), keyring, message)
                    blackHole(try stopwatch.measure { try bare.open(response, sealed) })
                },
            ])
    }

    /// Pages that the system had to map for a client's part of an exchange, once the allocator knows the size.
    private func pages(_ size: Int, _ key: GatewayKey, _ keyring: GatewayKeyring) throws -> Figure {
        let message = [UInt8](repeating: 0x61, count: size)
        let exchanges = 200
        var pages = 0
        for number in 0..<2 * exchanges {
            var before = Self.pageFaults()
            let sealed = try Sealed(key.configuration, message)
            var mapped = Self.pageFaults() - before
            let response = try answer(sealed.message, keyring, message)
            before = Self.pageFaults()
            blackHole(try sealed.open(response))
            mapped += Self.pageFaults() - before
            if number >= exchanges { pages += mapped }
        }
        return Figure(
            group: "ohttp", scenario: Self.scenario(size), name: Self.pages, value: Double(pages) / Double(exchanges), unit: .count)
    }

    private static func pageFaults() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_minflt
    }

    /// What the gateway sends back.
    private func answer(_ request: Data, _ keyring: GatewayKeyring, _ message: [UInt8]) throws -> [UInt8] {
        let opened = try keyring.decapsulate(request)
        return try opened.response.seal(message)
    }

    private func alternate(scenario: String, _ subjects: [(inout Stopwatch) throws -> Void]) throws -> [Figure] {
        let subjects = options.costs ? Array(subjects.prefix(1)) : subjects
        var rounds = [[Double]](repeating: [], count: subjects.count)
        var processor = rounds
        for round in 0...options.rounds {
            var calls = [[Double]](repeating: [], count: subjects.count)
            var used = calls
            let end = ContinuousClock.now + .seconds(options.seconds)
            repeat {
                for (index, subject) in subjects.enumerated() {
                    var stopwatch = Stopwatch(measures: .time)
                    try subject(&stopwatch)
                    calls[index].append(stopwatch.total / .nanoseconds(1))
                    guard options.costs else { continue }
                    stopwatch = Stopwatch(measures: .processorTime)
                    try subject(&stopwatch)
                    used[index].append(stopwatch.processorSeconds * 1e9)
                }
            } while ContinuousClock.now < end
            // The first warms up.
            guard round > 0 else { continue }
            for index in subjects.indices {
                rounds[index].append(median(calls[index]))
                if options.costs { processor[index].append(median(used[index])) }
            }
        }
        return try subjects.enumerated().map { index, subject in
            let ratios = index == 0 && rounds.count > 1 ? [Self.names[1]: median(zip(rounds[1], rounds[0]).map { $0 / $1 })] : [:]
            return Figure(
                group: "ohttp", scenario: scenario, name: Self.names[index], value: median(rounds[index]), unit: .nanoseconds,
                ratios: ratios, rounds: rounds[index],
                cost: options.costs ? Cost(processorNanoseconds: median(processor[index]), allocations: try allocations(subject)) : nil)
        }
    }

    /// Allocations of one call, from a hundred.
    private func allocations(_ subject: (inout Stopwatch) throws -> Void) throws -> Double {
        var stopwatch = Stopwatch(measures: .allocations)
        for _ in 0..<100 { try subject(&stopwatch) }
        return Double(stopwatch.allocations) / 100
    }
}

/// Counts only while the measured code runs: the gateway's part of an exchange does not count.
private struct Stopwatch {
    /// One at a time, because reading the processor's clock and counting take time too.
    enum Measure {
        case time, processorTime, allocations
    }

    let measures: Measure
    private(set) var total = Duration.zero
    private(set) var processorSeconds = 0.0
    private(set) var allocations = 0

    init(measures: Measure) { self.measures = measures }

    mutating func measure<Result>(_ work: () throws -> Result) rethrows -> Result {
        switch measures {
        case .time:
            let start = ContinuousClock.now
            defer { total += ContinuousClock.now - start }
            return try work()
        case .processorTime:
            let start = clock_seconds(CLOCK_THREAD_CPUTIME_ID)
            defer { processorSeconds += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - start }
            return try work()
        case .allocations:
            allocation_counter_start()
            defer { allocations += allocation_counter_stop() }
            return try work()
        }
    }
}

/// A copyable box: a closure cannot hand a noncopyable value out to be used up later.
private final class Sealed {
    let message: Data
    private var opener: ResponseOpener?

    init(_ configuration: KeyConfiguration, _ request: [UInt8]) throws {
        let sealed = try configuration.encapsulate(request)
        message = sealed.message
        opener = .some(sealed.response)
    }

    func open(_ response: [UInt8]) throws -> Data {
        guard let opener = opener.take() else { throw BenchmarkError("opened twice") }
        return try opener.open(response)
    }
}

/// What RFC 9458 makes a client compute, with swift-crypto and nothing around it.
private struct BareExchange {
    private let key: Curve25519.KeyAgreement.PublicKey
    private let suite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_128)
    private let header: [UInt8] = [1, 0, 0x20, 0, 1, 0, 1]
    private let info: Data
    private let responseLabel = Data("message/bhttp response".utf8)

    struct Request {
        let encapsulatedKey: Data
        let ciphertext: Data
        let secret: SymmetricKey
    }

    init(publicKey: [UInt8]) throws {
        key = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
        info = Data("message/bhttp request".utf8) + [0] + header
    }

    func seal(_ message: [UInt8]) throws -> Request {
        var sender = try HPKE.Sender(recipientKey: key, ciphersuite: suite, info: info)
        let ciphertext = try sender.seal(message)
        let secret = try sender.exportSecret(context: responseLabel, outputByteCount: 16)
        return Request(encapsulatedKey: sender.encapsulatedKey, ciphertext: ciphertext, secret: secret)
    }

    /// The bytes that the gateway reads; not a part of what is measured.
    func message(_ request: Request) -> Data {
        Data(header) + request.encapsulatedKey + request.ciphertext
    }

    func open(_ response: [UInt8], _ request: Request) throws -> Data {
        let prk = HKDF<SHA256>.extract(inputKeyMaterial: request.secret, salt: request.encapsulatedKey + response.prefix(16))
        let key = HKDF<SHA256>.expand(pseudoRandomKey: prk, info: Data("key".utf8), outputByteCount: 16)
        let nonce = HKDF<SHA256>.expand(pseudoRandomKey: prk, info: Data("nonce".utf8), outputByteCount: 12)
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Data($0) }), ciphertext: response.dropFirst(16).dropLast(16),
            tag: response.suffix(16))
        return try AES.GCM.open(box, using: key)
    }
}
