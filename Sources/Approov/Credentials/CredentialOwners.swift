/// The owners of the credentials that requests carried; a value without a lock.
///
/// A credential whose source names no owner belongs to one that it shares with its renewals alone.
struct CredentialOwners {
    /// The most credentials to remember; a request that carried an older one is not sent again.
    static let maximum = 1_024

    private enum Owner: Hashable {
        case named(String)
        case unnamed(Int)
    }

    // Hashes, so that no credential outlives its user here. Swift seeds them for each process.
    private var owners: [Int: Owner] = [:]
    /// The keys of ``owners``, the oldest first.
    private var order: [Int] = []
    /// The hash of the credential that was noted last.
    private var last: Int?
    private var lastNumber = 0

    /// Notes that a request carries a credential.
    mutating func note(_ credential: Credential) {
        guard last != credential.hashValue else { return }
        last = credential.hashValue
        if let owner = credential.owner {
            set(.named(owner), of: credential.headerValue)
        } else if owners[credential.headerValue.hashValue] == nil {
            lastNumber += 1
            set(.unnamed(lastNumber), of: credential.headerValue)
        }
    }

    /// Notes that a source has renewed a credential.
    mutating func note(_ renewed: Credential, inPlaceOf refused: Credential) {
        guard renewed.owner == nil, refused.owner == nil, let owner = owners[refused.headerValue.hashValue] else { return note(renewed) }
        set(owner, of: renewed.headerValue)
    }

    /// Whether a credential belongs to the user with whose credential a request was sent.
    ///
    /// - Parameters:
    ///   - credential: The credential.
    ///   - header: The header's value in that request.
    /// - Returns: Whether it does; false if the owner of one of them is not known.
    func isSame(_ credential: Credential, asOf header: String) -> Bool {
        guard let owner = owners[header.hashValue] else { return false }
        return owner == (credential.owner.map { .named($0) } ?? owners[credential.headerValue.hashValue])
    }

    private mutating func set(_ owner: Owner, of header: String) {
        let key = header.hashValue
        if owners.updateValue(owner, forKey: key) != nil { order.removeAll { $0 == key } }
        order.append(key)
        guard order.count > Self.maximum else { return }
        owners[order.removeFirst()] = nil
    }
}
