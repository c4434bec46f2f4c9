// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]

let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdHTTP2 = Target.Dependency.product(name: "HummingbirdHTTP2", package: "hummingbird")
let hummingbirdTesting = Target.Dependency.product(name: "HummingbirdTesting", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2")
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let structuredFields = Target.Dependency.product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let instrumentation = Target.Dependency.product(name: "Instrumentation", package: "swift-distributed-tracing")
let inMemoryTracing = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")

let package = Package(
    name: "approov-swift",
    products: [
        .library(name: "APIClient", targets: ["APIClient"]),
        .library(name: "Approov", targets: ["Approov"]),
        .library(name: "ApproovAuthority", targets: ["ApproovAuthority"]),
        .library(name: "ApproovGateway", targets: ["ApproovGateway"]),
        .library(name: "ApproovRelay", targets: ["ApproovRelay"]),
        .library(name: "ApproovReplayStores", targets: ["ApproovReplayStores"]),
        .library(name: "ApproovServer", targets: ["ApproovServer"]),
        .library(name: "ApproovTokenCheck", targets: ["ApproovTokenCheck"]),
        .library(name: "ApproovTokens", targets: ["ApproovTokens"]),
        .library(name: "ApproovTesting", targets: ["ApproovTesting"]),
        .library(name: "Attestation", targets: ["Attestation"]),
        .library(name: "CertificatePinning", targets: ["CertificatePinning"]),
        .library(name: "HTTPClient", targets: ["HTTPClient"]),
        .library(name: "HTTPRecording", targets: ["HTTPRecording"]),
        .library(name: "HTTPTransport", targets: ["HTTPTransport"]),
        .library(name: "MessageSignatures", targets: ["MessageSignatures"]),
        .library(name: "OAuth2", targets: ["OAuth2"]),
        .library(name: "OAuth2SecretService", targets: ["OAuth2SecretService"]),
        .library(name: "OHTTP", targets: ["OHTTP"]),
        .executable(name: "approov", targets: ["ApproovCLI"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.40.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // System libraries: a module map, a header, and the inline C that Swift needs (macros, variadics). No logic.
        .systemLibrary(name: "CLibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibJWT", pkgConfig: "libjwt", providers: [.apt(["libjwt-dev"])]),
        .systemLibrary(name: "CLibPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
        .systemLibrary(name: "CNetlink"),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CKeyUtils", pkgConfig: "libkeyutils", providers: [.apt(["libkeyutils-dev"])]),
        .systemLibrary(name: "CLibSecret", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),

        // The one function of each runs before main, COpenSSLStart's first.
        .target(name: "COpenSSLStart", dependencies: ["COpenSSL"]),
        .target(name: "CLibCurlStart", dependencies: ["CLibCurl", "COpenSSLStart"]),

        // What is listed under a target is all that it may import: Scripts/imports refuses the rest.
        .target(name: "ApproovBase", dependencies: ["CJansson"], swiftSettings: settings),
        .target(
            name: "CertificatePinning",
            dependencies: ["ApproovBase", "CLibPSL", "COpenSSL", "COpenSSLStart", logging],
            swiftSettings: settings),
        .target(
            name: "HTTPClient",
            dependencies: ["ApproovBase", "CertificatePinning", "CLibCurl", "CLibCurlStart", "COpenSSL", deque, httpTypes],
            swiftSettings: settings),
        .target(name: "HTTPRecording", dependencies: ["ApproovBase", "HTTPClient", crypto, httpTypes], swiftSettings: settings),
        .target(
            name: "HTTPServing",
            dependencies: [
                "ApproovBase", "CertificatePinning", httpTypes, hummingbird, hummingbirdCore, hummingbirdHTTP2, hummingbirdTLS, logging,
                nioCore, nioHPACK, nioHTTP1, nioHTTP2, nioSSL, nioTLS,
            ],
            swiftSettings: settings),
        .target(name: "OHTTP", dependencies: ["ApproovBase", crypto, httpTypes], swiftSettings: settings),
        .target(
            name: "MessageSignatures", dependencies: ["ApproovBase", crypto, cryptoExtras, httpTypes, structuredFields],
            swiftSettings: settings),
        .target(name: "Attestation", dependencies: ["ApproovBase", crypto], swiftSettings: settings),
        .target(
            name: "ApproovTokens",
            dependencies: ["ApproovBase", "Attestation", "CJansson", "CLibJWT", "COpenSSL", "COpenSSLStart", crypto],
            swiftSettings: settings),
        .target(
            name: "Approov",
            dependencies: [
                "ApproovBase", "Attestation", "CertificatePinning", "HTTPClient", "MessageSignatures", "OHTTP", heap, httpTypes,
                instrumentation, logging, metrics, tracing,
            ],
            swiftSettings: settings),
        .target(
            name: "APIClient",
            dependencies: [
                "Approov", "ApproovBase", "CertificatePinning", "CExpat", "CNetlink", "HTTPClient", "HTTPRecording", httpTypes, logging,
            ],
            swiftSettings: settings),
        .target(
            name: "OAuth2",
            dependencies: ["Approov", "ApproovBase", "CertificatePinning", "CKeyUtils", "HTTPClient", crypto, cryptoExtras, httpTypes],
            swiftSettings: settings),
        // A product for itself, so that only apps that use the Secret Service link libsecret.
        .target(
            name: "OAuth2SecretService", dependencies: ["ApproovBase", "CLibSecret", "OAuth2"], swiftSettings: settings),
        // Links no database, no libcurl and no certificate minting.
        .target(
            name: "ApproovTokenCheck",
            dependencies: [
                "ApproovBase", "ApproovTokens", "Attestation", "HTTPServing", "MessageSignatures", crypto, heap, httpTypes, hummingbird,
                hummingbirdCore, logging, metrics, nioCore, nioSSL,
            ],
            swiftSettings: settings),
        .target(
            name: "ApproovReplayStores", dependencies: ["ApproovBase", "ApproovTokenCheck", grdb], swiftSettings: settings),
        .target(
            name: "ApproovAuthority",
            dependencies: [
                "ApproovBase", "ApproovTokens", "Attestation", "CertificatePinning", "HTTPServing", "HTTPClient", asn1, crypto,
                cryptoExtras,
                grdb, httpTypes, hummingbird, lifecycle, logging, metrics, nioCore, nioHTTP1, nioSSL, x509,
            ],
            swiftSettings: settings),
        // Without Attestation and the authority: the gateway cannot know an account.
        .target(
            name: "ApproovGateway",
            dependencies: [
                "ApproovBase", "CertificatePinning", "HTTPClient", "HTTPServing", "OHTTP", crypto, httpTypes, hummingbird, lifecycle,
                logging, metrics, nioCore,
            ],
            swiftSettings: settings),
        // Without OHTTP, and without anything that depends on it: the relay cannot read what it forwards.
        .target(
            name: "ApproovRelay",
            dependencies: [
                "ApproovBase", "CertificatePinning", "HTTPClient", "HTTPServing", httpTypes, hummingbird, lifecycle, logging, metrics,
                nioCore,
            ],
            swiftSettings: settings),
        // Re-export what replaced them, for programs that name them.
        .target(
            name: "ApproovServer", dependencies: ["ApproovAuthority", "ApproovGateway", "ApproovTokenCheck"], swiftSettings: settings),
        .target(name: "HTTPTransport", dependencies: ["HTTPClient"], swiftSettings: settings),
        .target(
            name: "ApproovTesting",
            dependencies: [
                "Approov", "ApproovAuthority", "ApproovBase", "ApproovTokenCheck", "Attestation", "COpenSSL", "CertificatePinning",
                "HTTPClient", "HTTPRecording", "OHTTP", asn1, crypto, cryptoExtras, httpTypes, hummingbird, hummingbirdCore,
                hummingbirdHTTP2,
                hummingbirdTLS, lifecycle, logging, nioCore, nioPosix, nioSSL, nioTLS, x509,
            ],
            swiftSettings: settings),
        // ApproovTesting, because `approov demo` makes its servers and certificates with it (Sources/ApproovCLI/Demo).
        .executableTarget(
            name: "ApproovCLI",
            dependencies: [
                "Approov", "ApproovAuthority", "ApproovBase", "ApproovGateway", "ApproovRelay", "ApproovTesting", "ApproovTokenCheck",
                "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient", "HTTPRecording", "HTTPServing", "OHTTP", argumentParser,
                crypto, httpTypes, hummingbird, lifecycle, logging, unixSignals,
            ],
            exclude: ["Resources/README.txt"],
            resources: [
                // In the code, so that the binary runs wherever it is copied.
                .embedInCode("Resources/demo-only-account-secret.txt"),
                .embedInCode("Resources/demo-only-config-key.pem"),
                .embedInCode("Resources/demo-only-tls-backup-key.pem"),
                .embedInCode("Resources/demo-only-tls-key.pem"),
                .embedInCode("Resources/demo-only-tls-root-key.pem"),
                .embedInCode("Resources/demo-only-tls-root.pem"),
            ],
            swiftSettings: settings),

        .testTarget(
            name: "ApproovBaseTests", dependencies: ["ApproovBase", "ApproovTesting"], swiftSettings: settings),
        .testTarget(
            name: "CertificatePinningTests",
            dependencies: ["ApproovTesting", "CertificatePinning", "COpenSSL", "TestTags"],
            swiftSettings: settings),
        .executableTarget(
            name: "cancellation-storm",
            dependencies: ["ApproovTesting", "CertificatePinning", "HTTPClient"],
            path: "Tests/CancellationStorm",
            swiftSettings: settings),
        .executableTarget(
            name: "stream-storm",
            dependencies: ["ApproovTesting", "CertificatePinning", "HTTPClient"],
            path: "Tests/StreamStorm",
            swiftSettings: settings),
        .testTarget(
            name: "HTTPClientTests",
            dependencies: ["cancellation-storm", "ApproovTesting", "CertificatePinning", "CLibCurl", "HTTPClient", httpTypes, "TestTags"],
            swiftSettings: settings),
        .testTarget(
            name: "HTTPRecordingTests",
            dependencies: ["ApproovTesting", "CertificatePinning", "HTTPClient", "HTTPRecording", httpTypes],
            swiftSettings: settings),
        .testTarget(
            name: "OHTTPTests", dependencies: ["ApproovTesting", "OHTTP", crypto, httpTypes, "TestTags"],
            swiftSettings: settings),
        .testTarget(
            name: "HTTPServingTests",
            dependencies: [
                "ApproovBase", "ApproovTesting", "HTTPServing", hummingbird, hummingbirdCore, lifecycle, logging, nioCore, nioEmbedded,
                nioHPACK, nioHTTP1, nioHTTP2, nioPosix, nioSSL, "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovRelayTests",
            dependencies: [
                "ApproovRelay", "ApproovTesting", "CertificatePinning", "HTTPClient", httpTypes, logging, metricsTestKit, "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MessageSignaturesTests",
            dependencies: ["ApproovTesting", "MessageSignatures", crypto, cryptoExtras, httpTypes, structuredFields, "TestTags"],
            swiftSettings: settings),
        .testTarget(
            name: "AttestationTests",
            dependencies: ["ApproovBase", "ApproovTesting", "Attestation", crypto],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovTokensTests",
            dependencies: ["ApproovBase", "ApproovTesting", "ApproovTokens", "Attestation", crypto, cryptoExtras],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovTests",
            dependencies: [
                "ApproovBase", "Approov", "ApproovTesting", "Attestation", "CertificatePinning", "HTTPClient", "MessageSignatures", "OHTTP",
                crypto, httpTypes, inMemoryTracing, instrumentation, logging, metrics, metricsTestKit, tracing, "TestTags",
            ],
            swiftSettings: settings),
        // A process whose memory tests look at.
        .executableTarget(
            name: "upload-meter", dependencies: ["APIClient", "Approov", "HTTPClient"], path: "Tests/UploadMeter", swiftSettings: settings),
        .testTarget(
            name: "APIClientTests",
            dependencies: [
                "upload-meter", "APIClient", "Approov", "ApproovBase", "ApproovTesting", "Attestation", "CertificatePinning", "HTTPClient",
                httpTypes,
                "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "OAuth2Tests",
            dependencies: [
                "APIClient", "Approov", "ApproovBase", "ApproovTesting", "CertificatePinning", "CKeyUtils", "HTTPClient", "OAuth2",
                "oauth2-worker", crypto, httpTypes, "TestTags",
            ],
            swiftSettings: settings),
        // One of several processes that share a token store, or one that tests kill while it stores a token.
        .executableTarget(
            name: "oauth2-worker", dependencies: ["ApproovBase", "CertificatePinning", "OAuth2"], path: "Tests/OAuth2Worker",
            swiftSettings: settings),
        .testTarget(
            name: "OAuth2SecretServiceTests",
            dependencies: ["ApproovTesting", "OAuth2", "OAuth2SecretService", "secret-service-worker", "TestTags"],
            swiftSettings: settings),
        // One of several processes that share the tokens of a keyring.
        .executableTarget(
            name: "secret-service-worker", dependencies: ["OAuth2SecretService"], path: "Tests/SecretServiceWorker",
            swiftSettings: settings),
        .testTarget(
            name: "ApproovAuthorityTests",
            dependencies: [
                "ApproovAuthority", "ApproovBase", "ApproovTesting", "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient",
                "HTTPServing", "OHTTP", crypto, grdb, httpTypes, logging, nioCore, "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovGatewayTests",
            dependencies: [
                "ApproovBase", "ApproovGateway", "ApproovTesting", "CertificatePinning", "HTTPClient", "HTTPServing",
                "OHTTP", httpTypes, logging, metricsTestKit, nioCore, "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovTokenCheckTests",
            dependencies: [
                "ApproovBase", "ApproovTesting", "ApproovTokenCheck", "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient",
                "MessageSignatures", crypto, httpTypes, hummingbird, hummingbirdTesting, logging, metricsTestKit, nioCore, nioEmbedded,
                nioHTTP2, "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovReplayStoresTests",
            dependencies: [
                "replay-storm", "ApproovBase", "ApproovReplayStores", "ApproovTesting", "ApproovTokenCheck", grdb, "TestTags",
            ],
            swiftSettings: settings),
        // One of several processes that use the same tokens.
        .executableTarget(
            name: "replay-storm", dependencies: ["ApproovReplayStores", "ApproovTokenCheck"], path: "Tests/ReplayStorm",
            swiftSettings: settings),
        .testTarget(
            name: "ApproovTestingTests",
            dependencies: [
                "ApproovAuthority", "ApproovBase", "ApproovTesting", "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient",
                "HTTPRecording", asn1, httpTypes, x509, lifecycle, logging, "TestTags",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ApproovCLITests",
            dependencies: [
                "Approov", "ApproovAuthority", "ApproovBase", "ApproovCLI", "ApproovTesting", "ApproovTokens", "Attestation",
                "CertificatePinning", "HTTPClient", "OHTTP", argumentParser, crypto, httpTypes, logging, "TestTags",
            ],
            swiftSettings: settings),
        // The tags of tests. A library for them alone, as a product must not link the testing library.
        .target(name: "TestTags", path: "Tests/TestTags", swiftSettings: settings),
        // A process that tests kill while it writes.
        .executableTarget(
            name: "configuration-writer",
            dependencies: ["Approov", "ApproovBase", "Attestation"],
            path: "Tests/ConfigurationWriter",
            swiftSettings: settings),
        // An app that has everything by default.
        .executableTarget(
            name: "bundled-app", dependencies: ["Approov", "Attestation"], path: "Tests/BundledApp", swiftSettings: settings),
        // A backend that tests stop while it works.
        .executableTarget(
            name: "guarded-backend", dependencies: ["ApproovTokenCheck", hummingbird, logging],
            path: "Tests/GuardedBackend",
            swiftSettings: settings),
        .executableTarget(
            name: "exit-storm",
            dependencies: ["ApproovTesting", "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient"],
            path: "Tests/ExitStorm",
            swiftSettings: settings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "bundled-app", "configuration-writer", "exit-storm", "guarded-backend", "APIClient", "Approov", "ApproovAuthority",
                "ApproovBase", "ApproovCLI", "ApproovGateway", "ApproovRelay", "ApproovReplayStores", "ApproovTokenCheck", "ApproovTesting",
                "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient", "HTTPRecording", "MessageSignatures", "OAuth2", "OHTTP",
                "TestTags",
                crypto, httpTypes, hummingbird, nioCore, nioHTTP1, nioPosix, nioSSL,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "ReadmeTests",
            dependencies: [
                "APIClient", "Approov", "ApproovAuthority", "ApproovBase", "ApproovCLI", "ApproovGateway", "ApproovReplayStores",
                "ApproovServer", "ApproovTesting", "ApproovTokenCheck", "ApproovTokens", "Attestation", "CertificatePinning", "HTTPClient",
                "HTTPRecording", "MessageSignatures", "OAuth2", "OAuth2SecretService", "OHTTP", "TestTags", argumentParser, httpTypes,
                hummingbird, hummingbirdTesting, logging,
            ],
            swiftSettings: settings),
    ]
)

// Only Scripts/docs sets this variable, so that packages that depend on this one do not fetch a documentation tool.
if Context.environment["APPROOV_DOCUMENTATION"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// Only Scripts/test sets this variable. A release build then tests optimized modules with tests that are not optimized themselves: that
// takes half the time, and most of a release build of everything is tests.
if Context.environment["APPROOV_QUICK_TESTS"] != nil {
    for target in package.targets where target.type == .test {
        target.swiftSettings?.append(.unsafeFlags(["-Onone"], .when(configuration: .release)))
    }
}
