extension Dictionary {
    /// Changes the value of a key; does nothing if there is none.
    ///
    /// The value is taken out for that time. Changing it in place, as in `dictionary[key]?.count += 1`, allocates memory for each accessor,
    /// and changing a copy would copy the collections in it.
    @discardableResult
    mutating func change<Result>(_ key: Key, _ body: (inout Value) -> Result?) -> Result? {
        guard var value = removeValue(forKey: key) else { return nil }
        defer { self[key] = value }
        return body(&value)
    }
}
