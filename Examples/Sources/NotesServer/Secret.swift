import Crypto
import Foundation

/// Random text, and the code challenge of PKCE.
enum Secret {
    /// 32 random bytes as base64url.
    static func make() -> String { base64URL(SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }) }

    /// The challenge that belongs to a verifier (RFC 7636, section 4.2).
    static func challenge(for verifier: String) -> String { base64URL(Data(SHA256.hash(data: Data(verifier.utf8)))) }

    /// The name of the log-in in front of a token.
    static func login(of token: String) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : nil
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
