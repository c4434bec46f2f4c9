/// A signature that a ``SignatureVerifier`` has verified.
///
/// Only a ``SignatureVerifier`` can make one.
public struct VerifiedSignature: Sendable {
    /// The label.
    ///
    /// An intermediary can change it: it proves nothing.
    public let label: String
    /// The covered components and the parameters.
    public let parameters: SignatureParameters
    /// The key's algorithm.
    public let algorithm: SignatureAlgorithm
    /// The name of the key that verified it; nil if the key has no name.
    public let keyID: String?

    init(label: String, parameters: SignatureParameters, key: SignatureVerificationKey) {
        self.label = label
        self.parameters = parameters
        algorithm = key.algorithm
        keyID = key.id
    }

    /// Whether the signature covers a component.
    ///
    /// - Parameter component: The component.
    /// - Returns: True when it does.
    public func covers(_ component: SignatureComponent) -> Bool { parameters.components.contains(component) }
}
