package import Foundation
package import FoundationNetworking

extension URLRequest {
    /// The timeout of a request whose caller set none, in seconds: the default of `URLRequest`.
    package static var standardTimeout: TimeInterval { 60 }
}
