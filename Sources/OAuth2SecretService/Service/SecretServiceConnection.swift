internal import CLibSecret

/// A connection to the session bus, and the Secret Service on it; for one thread at a time.
///
/// It is not the connection that all users of GLib in the process share: GLib ends the process when the bus closes that one.
final class SecretServiceConnection {
    /// What an item contains.
    enum Content: Sendable {
        case missing
        case tooLarge
        case bytes([UInt8])
    }

    private static let type = clibsecret_register()

    /// Takes the signals that GLib queues for this connection, which are discarded after each call.
    private let context: OpaquePointer
    private let connection: OpaquePointer
    private let service: UnsafeMutablePointer<SecretService>
    private let schema: UnsafeMutablePointer<SecretSchema>

    /// Connects to the bus, and agrees with the service on a key for what they send each other.
    ///
    /// - Parameters:
    ///   - busAddress: The bus; nil for the process's session bus.
    ///   - cancellation: Ends the attempt.
    /// - Throws: ``SecretServiceFailure``.
    init(busAddress: String?, _ cancellation: Cancellation) throws(SecretServiceFailure) {
        let context: OpaquePointer = g_main_context_new()
        g_main_context_push_thread_default(context)
        defer { g_main_context_pop_thread_default(context) }
        do throws(SecretServiceFailure) {
            let connection = try Self.connect(busAddress, cancellation)
            do throws(SecretServiceFailure) {
                service = try cancellation.lend { cancellable throws(SecretServiceFailure) in
                    try glib(otherwise: .refused) { clibsecret_open(Self.type, connection, cancellable, $0) }
                }
            } catch {
                g_object_unref(UnsafeMutableRawPointer(connection))
                throw error
            }
            self.connection = connection
        } catch {
            Self.end(context)
            throw error
        }
        self.context = context
        schema = clibsecret_schema(TokenItem.schema, TokenItem.attributes.store, TokenItem.attributes.key)
    }

    deinit {
        g_object_unref(service)
        secret_schema_unref(schema)
        Self.close(connection, context)
    }

    private static func connect(
        _ busAddress: String?, _ cancellation: Cancellation
    ) throws(SecretServiceFailure) -> OpaquePointer {
        try cancellation.lend { cancellable throws(SecretServiceFailure) in
            let address: UnsafeMutablePointer<CChar> =
                if let busAddress {
                    g_strdup(busAddress)
                } else {
                    try glib(otherwise: .noBus) { g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SESSION, cancellable, $0) }
                }
            defer { g_free(address) }
            let flags = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
            return try glib(otherwise: .noBus) {
                g_dbus_connection_new_for_address_sync(address, GDBusConnectionFlags(rawValue: flags), nil, cancellable, $0)
            }
        }
    }

    /// The last reference closes the socket, without waiting for the bus.
    private static func close(_ connection: OpaquePointer, _ context: OpaquePointer) {
        g_object_unref(UnsafeMutableRawPointer(connection))
        end(context)
    }

    /// Runs what GLib queued, which frees memory and has references to the connection, even after an attempt that failed.
    private static func end(_ context: OpaquePointer) {
        while g_main_context_iteration(context, 0) != 0 {}
        g_main_context_unref(context)
    }

    /// Reads an item; asks the user to unlock the keyring that has it.
    func secret(of item: TokenItem, limit: Int, _ cancellation: Cancellation) throws(SecretServiceFailure) -> Content {
        try calling(item, cancellation) { attributes, cancellable throws(SecretServiceFailure) in
            let value = try optional { secret_service_lookup_sync(self.service, self.schema, attributes, cancellable, $0) }
            guard let value else {
                // libsecret does not report that the user left the keyring locked.
                guard try !self.hasItem(attributes, cancellable, where: { $0 }) else { throw Self.leftLocked }
                return .missing
            }
            defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
            var count: gsize = 0
            guard let text = secret_value_get(value, &count) else { return .bytes([]) }
            guard count <= limit else { return .tooLarge }
            return .bytes(Array(UnsafeRawBufferPointer(start: text, count: Int(count))))
        }
    }

    /// Puts content into the item of the default keyring, which is made when it is missing.
    ///
    /// Removes the item of another unlocked keyring, which was the default one before, because a read might find that one. If the service does
    /// not allow it, the item stays: the content is stored.
    func store(_ content: [UInt8], as item: TokenItem, _ cancellation: Cancellation) throws(SecretServiceFailure) {
        try calling(item, cancellation) { attributes, cancellable throws(SecretServiceFailure) in
            let value = content.withUnsafeBytes {
                secret_value_new($0.baseAddress?.assumingMemoryBound(to: CChar.self), gssize($0.count), "text/plain")
            }
            defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
            var error: UnsafeMutablePointer<GError>?
            let isStored = secret_service_store_sync(self.service, self.schema, attributes, nil, item.label, value, cancellable, &error)
            if let error { throw SecretServiceFailure(error, otherwise: .refused) }
            guard isStored != 0 else { throw Self.leftLocked }
            var used: String?
            try? self.forEachItem(attributes, cancellable, SECRET_SEARCH_LOAD_SECRETS) { object in
                if Self.secret(of: object, is: content) == true { used = Self.keyring(of: object) }
            }
            // Without it, another process has stored its own content meanwhile.
            guard let used else { return }
            try? self.forEachItem(attributes, cancellable, SECRET_SEARCH_LOAD_SECRETS) { object in
                // The secret of a locked item is not known, and its deletion could ask the user.
                guard Self.keyring(of: object) != used, Self.secret(of: object, is: content) == false else { return }
                secret_item_delete_sync(object, cancellable, nil)
            }
        }
    }

    /// Removes an item; asks the user to unlock the keyring that has it.
    func remove(_ item: TokenItem, _ cancellation: Cancellation) throws(SecretServiceFailure) {
        try calling(item, cancellation) { attributes, cancellable throws(SecretServiceFailure) in
            // libsecret removes only what is unlocked, and does not report the rest.
            guard try self.hasItem(attributes, cancellable, SECRET_SEARCH_UNLOCK) else { return }
            var error: UnsafeMutablePointer<GError>?
            secret_service_clear_sync(self.service, self.schema, attributes, cancellable, &error)
            if let error { throw SecretServiceFailure(error, otherwise: .refused) }
            guard try !self.hasItem(attributes, cancellable) else { throw Self.leftLocked }
        }
    }

    /// Whether an item has this content; nil if it is locked or has no secret.
    private static func secret(of item: UnsafeMutablePointer<SecretItem>?, is content: [UInt8]) -> Bool? {
        guard secret_item_get_locked(item) == 0, let value = secret_item_get_secret(item) else { return nil }
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        var count: gsize = 0
        guard let text = secret_value_get(value, &count) else { return false }
        return UnsafeRawBufferPointer(start: text, count: Int(count)).elementsEqual(content)
    }

    /// The path of the keyring that has an item: that of the item without its last part.
    private static func keyring(of item: UnsafeMutablePointer<SecretItem>?) -> String? {
        let proxy = UnsafeMutableRawPointer(item)?.assumingMemoryBound(to: GDBusProxy.self)
        guard let path = g_dbus_proxy_get_object_path(proxy) else { return nil }
        let text = String(cString: path)
        return text.lastIndex(of: "/").map { String(text[..<$0]) }
    }

    private static let leftLocked = SecretServiceFailure(.locked, "the item is in a locked keyring")

    /// Whether there is an item with the attributes that counts; `isWanted` decides, by whether the item is locked.
    private func hasItem(
        _ attributes: OpaquePointer, _ cancellable: UnsafeMutablePointer<GCancellable>, _ flags: SecretSearchFlags = SECRET_SEARCH_NONE,
        where isWanted: (_ isLocked: Bool) -> Bool = { _ in true }
    ) throws(SecretServiceFailure) -> Bool {
        var found = false
        try forEachItem(attributes, cancellable, flags) { object in
            if isWanted(secret_item_get_locked(object) != 0) { found = true }
        }
        return found
    }

    /// Lends each item with the attributes, of every keyring.
    private func forEachItem(
        _ attributes: OpaquePointer, _ cancellable: UnsafeMutablePointer<GCancellable>, _ flags: SecretSearchFlags,
        _ body: (UnsafeMutablePointer<SecretItem>?) throws(SecretServiceFailure) -> Void
    ) throws(SecretServiceFailure) {
        let flags = SecretSearchFlags(rawValue: flags.rawValue | SECRET_SEARCH_ALL.rawValue)
        let items = try optional { secret_service_search_sync(self.service, self.schema, attributes, flags, cancellable, $0) }
        defer { g_list_free_full(items, g_object_unref) }
        var item = items
        while let here = item {
            try body(here.pointee.data?.assumingMemoryBound(to: SecretItem.self))
            item = here.pointee.next
        }
    }

    /// Lends an item's attributes and a cancellable to calls, and discards the signals that came meanwhile.
    private func calling<Value>(
        _ item: TokenItem, _ cancellation: Cancellation,
        _ body: (OpaquePointer, UnsafeMutablePointer<GCancellable>) throws(SecretServiceFailure) -> Value
    ) throws(SecretServiceFailure) -> Value {
        g_main_context_push_thread_default(context)
        defer {
            while g_main_context_iteration(context, 0) != 0 {}
            g_main_context_pop_thread_default(context)
        }
        let attributes: OpaquePointer = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)
        defer { g_hash_table_unref(attributes) }
        g_hash_table_insert(attributes, g_strdup(TokenItem.attributes.store), g_strdup(item.store))
        g_hash_table_insert(attributes, g_strdup(TokenItem.attributes.key), g_strdup(item.key))
        return try cancellation.lend { cancellable throws(SecretServiceFailure) in try body(attributes, cancellable) }
    }
}

/// Calls a function of GLib that returns an object or an error.
private func glib<Value>(
    otherwise other: SecretServiceFailure.Kind, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> Value?
) throws(SecretServiceFailure) -> Value {
    var error: UnsafeMutablePointer<GError>?
    let value = body(&error)
    if let error { throw SecretServiceFailure(error, otherwise: other) }
    guard let value else { throw SecretServiceFailure(other, "no object and no error") }
    return value
}

/// Calls a function of libsecret that returns an object, nothing, or an error.
private func optional<Value>(
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> Value?
) throws(SecretServiceFailure) -> Value? {
    var error: UnsafeMutablePointer<GError>?
    let value = body(&error)
    if let error { throw SecretServiceFailure(error, otherwise: .refused) }
    return value
}
