internal import Foundation
package import HTTPTypes

extension HTTPFields {
    /// What `Content-Type` names: type and subtype in lower case, without parameters (RFC 9110 section 8.3.1).
    ///
    /// Empty when there is no such field, or more than one.
    package var mediaType: String {
        let values = self[values: .contentType]
        guard values.count == 1 else { return "" }
        return values[0].prefix { $0 != ";" }.trimmingCharacters(in: CharacterSet(charactersIn: " \t")).lowercased()
    }
}
