import ArgumentParser

/// Options of which a command takes exactly one.
enum OneOf {
    /// Refuses a command line with none of the options, or with more than one.
    /// - Parameter options: Whether each option is given, by its name.
    /// - Throws: `ValidationError` that names the options.
    static func check(_ options: KeyValuePairs<String, Bool>) throws {
        let given = options.count { $0.value }
        guard given != 1 else { return }
        let names = options.map(\.key)
        let list = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        throw ValidationError(given == 0 ? "Give one of \(list)." : "Give only one of \(list).")
    }
}
