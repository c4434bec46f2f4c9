// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]

// A separate package, so that no user of ours fetches the peers it is measured against.
let package = Package(
    name: "approov-benchmarks",
    dependencies: [
        .package(name: "approov-swift", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "CurlLoop", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "AllocationCounter"),
        .target(name: "HandshakeLoop", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .executableTarget(
            name: "Benchmark",
            dependencies: [
                "AllocationCounter", "CurlLoop", "HandshakeLoop",
                .product(name: "APIClient", package: "approov-swift"),
                .product(name: "Approov", package: "approov-swift"),
                .product(name: "ApproovRelay", package: "approov-swift"),
                .product(name: "ApproovServer", package: "approov-swift"),
                .product(name: "ApproovTesting", package: "approov-swift"),
                .product(name: "ApproovTokens", package: "approov-swift"),
                .product(name: "Attestation", package: "approov-swift"),
                .product(name: "CertificatePinning", package: "approov-swift"),
                .product(name: "HTTPTransport", package: "approov-swift"),
                .product(name: "MessageSignatures", package: "approov-swift"),
                .product(name: "OAuth2", package: "approov-swift"),
                .product(name: "OHTTP", package: "approov-swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
    ]
)
