// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that what is built with a sanitizer is the engine and what it needs, and nothing else.
let package = Package(
    name: "approov-stress",
    dependencies: [.package(name: "approov-swift", path: "..")],
    targets: [
        .executableTarget(
            name: "HandshakeStress",
            dependencies: [
                .product(name: "CertificatePinning", package: "approov-swift"),
                .product(name: "HTTPClient", package: "approov-swift"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("ExistentialAny"),
            ])
    ]
)
