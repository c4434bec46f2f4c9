import Foundation
import Testing

/// The repository's own files.
enum Repository {
    static var root: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }
}

/// The fields that two initial configurations of the same account share.
struct InitialConfigurationKeys: Equatable {
    let account: String
    let authorityPins: [String]
    let trustRoots: String
    let configKeys: NSArray

    init(_ text: String) throws {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        account = try #require(object["account"] as? String)
        authorityPins = try #require(object["authorityPins"] as? [String])
        trustRoots = try #require(object["trustRoots"] as? String)
        configKeys = NSArray(array: try #require(object["configKeys"] as? [Any]))
    }
}
