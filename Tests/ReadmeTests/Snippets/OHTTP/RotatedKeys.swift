import OHTTP

func rotated(_ keyring: GatewayKeyring, keeping count: Int) throws -> GatewayKeyring {
    let used = Set(keyring.keys.map(\.configuration.id))
    let newest = keyring.keys.first?.configuration.id ?? .random(in: .min ... .max)
    guard let id = (1...255).lazy.map({ newest &+ UInt8($0) }).first(where: { !used.contains($0) }) else {
        throw OHTTPError(.duplicateKey, "all identifiers are in use: discard old keys first")
    }
    return try GatewayKeyring([GatewayKey(id: id, kem: .xWing)] + keyring.keys.prefix(count))
}
