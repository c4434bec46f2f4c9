/// The rule for signing keys, shared by the initial and the dynamic configuration.
enum ConfigKeys {
    static func check(_ keys: [PublicJWK]) throws(AttestationError) {
        guard (1...DynamicConfiguration.maximumConfigKeys).contains(keys.count), Set(keys).count == keys.count else {
            throw AttestationError(
                .malformedConfiguration, "must name 1 to \(DynamicConfiguration.maximumConfigKeys) different keys", member: "configKeys")
        }
    }
}
