// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that a sanitizer instruments only the engine and its dependencies.
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
