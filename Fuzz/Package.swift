// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
]

let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let ohttp = Target.Dependency.product(name: "OHTTP", package: "approov-swift")

// A separate package, built by Scripts/fuzz with libFuzzer: plain `swift build` cannot link these.
let package = Package(
    name: "approov-fuzz",
    dependencies: [
        .package(name: "approov-swift", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .systemLibrary(name: "CLibFuzzer"),
        .executableTarget(name: "FuzzBinaryHTTP", dependencies: ["CLibFuzzer", ohttp, httpTypes], swiftSettings: settings),
        .executableTarget(name: "FuzzKeyConfigurations", dependencies: ["CLibFuzzer", ohttp], swiftSettings: settings),
        .executableTarget(name: "FuzzEncapsulatedRequests", dependencies: ["CLibFuzzer", ohttp], swiftSettings: settings),
    ]
)
