// swift-tools-version: 6.2
import PackageDescription

// Your package names the repository in place of the path: .package(url: "https://…/approov-swift.git", branch: "main")
let package = Package(
    name: "approov-examples",
    dependencies: [
        .package(name: "approov-swift", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    ],
    targets: [
        .executableTarget(name: "ExampleApp", dependencies: [.product(name: "Approov", package: "approov-swift")]),
        .executableTarget(
            name: "ExampleBackend",
            dependencies: [
                .product(name: "ApproovTokenCheck", package: "approov-swift"),
                .product(name: "ApproovTokens", package: "approov-swift"),
                .product(name: "Attestation", package: "approov-swift"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]),
        .executableTarget(
            name: "NotesApp",
            dependencies: [
                .product(name: "APIClient", package: "approov-swift"),
                .product(name: "Approov", package: "approov-swift"),
                .product(name: "CertificatePinning", package: "approov-swift"),
                .product(name: "HTTPClient", package: "approov-swift"),
                .product(name: "HTTPRecording", package: "approov-swift"),
                .product(name: "OAuth2", package: "approov-swift"),
            ]),
        .executableTarget(
            name: "NotesServer",
            dependencies: [
                .product(name: "ApproovTokenCheck", package: "approov-swift"),
                .product(name: "ApproovTokens", package: "approov-swift"),
                .product(name: "Attestation", package: "approov-swift"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]),
        .testTarget(
            name: "ExampleAppTests",
            dependencies: [
                "ExampleApp",
                .product(name: "Approov", package: "approov-swift"),
                .product(name: "ApproovAuthority", package: "approov-swift"),
                .product(name: "ApproovTesting", package: "approov-swift"),
                .product(name: "Attestation", package: "approov-swift"),
            ]),
        .testTarget(
            name: "NotesAppTests",
            dependencies: [
                "NotesApp",
                "NotesServer",
                .product(name: "APIClient", package: "approov-swift"),
                .product(name: "Approov", package: "approov-swift"),
                .product(name: "ApproovAuthority", package: "approov-swift"),
                .product(name: "ApproovTesting", package: "approov-swift"),
                .product(name: "Attestation", package: "approov-swift"),
                .product(name: "CertificatePinning", package: "approov-swift"),
                .product(name: "OAuth2", package: "approov-swift"),
            ]),
    ]
)
