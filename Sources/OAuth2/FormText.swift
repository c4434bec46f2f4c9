import ApproovBase

/// Texts of the media type application/x-www-form-urlencoded (RFC 6749, appendix B).
enum FormText {
    /// Encodes one name or value.
    static func encode(_ text: String) -> String { PercentEncoding.encoded(text).replacing("%20", with: "+") }

    /// Encodes parameters in their order.
    static func encode(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Decodes a query; nil if it has more than `limit` parameters, a bad percent sign, or bytes that are not UTF-8.
    static func decode(_ text: some StringProtocol, limit: Int) -> [(name: String, value: String)]? {
        var parameters: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            guard parameters.count < limit else { return nil }
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decodeOne(Array(halves[0])), let value = decodeOne(halves.count == 2 ? Array(halves[1]) : []) else {
                return nil
            }
            parameters.append((name, value))
        }
        return parameters
    }

    private static func decodeOne(_ bytes: [UInt8]) -> String? {
        PercentEncoding.decoded(String(decoding: bytes, as: UTF8.self).replacing("+", with: " "))
    }
}
