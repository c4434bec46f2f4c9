internal import CKeyUtils
internal import Glibc

/// Keys of type "user" in the kernel's keyring of this user (keyrings(7)).
enum KernelKeyring {
    private static let type = "user"
    /// How often a key is looked for that was replaced while it was read.
    private static let maximumAttempts = 3
    /// The keyring of the user, which all processes of the user share.
    private static let ring = key_serial_t(KEY_SPEC_USER_KEYRING)
    /// The keyring of the calling thread, in which a new key belongs to this process until its rights are set.
    private static let threadRing = key_serial_t(KEY_SPEC_THREAD_KEYRING)
    /// All rights for the user, even for a process whose session has no link to the keyring; none for the group and others.
    private static let rights = key_perm_t(0x3F3F_0000)

    /// Reads a key.
    ///
    /// - Parameters:
    ///   - name: The key's description.
    ///   - limit: The most bytes accepted.
    /// - Returns: The payload; nil if there is no such key.
    /// - Throws: ``OAuth2Error`` with code `storeFailed`.
    static func read(_ name: String, limit: Int) throws -> [UInt8]? {
        // A key that was found may be gone because another took its place.
        for _ in 0..<maximumAttempts {
            guard let key = try find(name) else { return nil }
            var buffer = [UInt8](repeating: 0, count: limit)
            let count = buffer.withUnsafeMutableBytes {
                keyctl_read(key, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
            }
            guard count >= 0 else {
                if isGone(errno) { continue }
                throw failure("a key cannot be read", errno)
            }
            guard count <= limit else {
                throw OAuth2Error(.storeFailed, "a key in the kernel's keyring has more than \(limit) bytes; remove it")
            }
            return Array(buffer[..<Int(count)])
        }
        return nil
    }

    /// Adds a key, or puts another payload into it.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - name: The key's description.
    /// - Throws: ``OAuth2Error`` with code `storeFailed`.
    static func write(_ payload: [UInt8], named name: String) throws {
        // In its place, so that the kernel's quota need not hold both payloads, and readers miss neither.
        // A key that may not be searched for is replaced below.
        if let key = (try? find(name)) ?? nil {
            guard payload.withUnsafeBytes({ keyctl_update(key, $0.baseAddress, $0.count) }) != 0 else {
                // An earlier release may have left the key without rights, so this call adds them. A failure does not count: a process that
                // may not add them could change the key only because the key has them.
                _ = keyctl_setperm(key, rights)
                return
            }
            guard errno == EACCES || isGone(errno) else { throw failure("a key cannot be changed", errno) }
        }
        // A process whose session has no link to the user's keyring, as a systemd service, may not set the rights of a key there. And no
        // key may be there without them: no process could read it.
        let key = payload.withUnsafeBytes { add_key(type, name, $0.baseAddress, $0.count, threadRing) }
        guard key >= 0 else { throw failure("a key cannot be added", errno) }
        defer { _ = keyctl_unlink(key, threadRing) }
        guard keyctl_setperm(key, rights) == 0 else { throw failure("the rights to a key cannot be set", errno) }
        // Takes the place of the key that has this name.
        guard keyctl_link(key, ring) == 0 else { throw failure("a key cannot be added", errno) }
    }

    /// Removes a key; does nothing if there is none.
    ///
    /// - Parameter name: The key's description.
    /// - Throws: ``OAuth2Error`` with code `storeFailed`.
    static func remove(_ name: String) throws {
        guard let key = try find(name) else { return }
        // The payload is gone at once, not only when the last link is.
        _ = keyctl_invalidate(key)
        guard keyctl_unlink(key, ring) != 0, errno != ENOENT, !isGone(errno) else { return }
        throw failure("a key cannot be removed", errno)
    }

    private static func find(_ name: String) throws -> key_serial_t? {
        let key = keyctl_search(ring, type, name, 0)
        guard key < 0 else { return key_serial_t(key) }
        if isGone(errno) { return nil }
        throw failure("a key cannot be searched", errno)
    }

    private static func isGone(_ number: Int32) -> Bool {
        number == ENOKEY || number == EKEYREVOKED || number == EKEYEXPIRED
    }

    private static func failure(_ what: String, _ number: Int32) -> OAuth2Error {
        let remedy =
            switch number {
            case ENOSYS, EPERM: "containers often forbid the keyring: use FileTokenStore"
            case EACCES: "the keyring or the key belongs to another user or session: remove the key, or use FileTokenStore"
            case EDQUOT: "the user's keys are too many or too large: remove some"
            default: "use FileTokenStore"
            }
        return OAuth2Error(.storeFailed, "\(what) in the kernel's keyring: \(String(cString: strerror(number))); \(remedy)")
    }
}
