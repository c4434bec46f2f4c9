extension Error {
    /// What to check after a value could not be encoded.
    ///
    /// Foundation's own text may contain the value, so errors name only its place.
    var encodingPlace: String {
        guard case EncodingError.invalidValue(_, let context) = self as any Error, !context.codingPath.isEmpty else {
            return "check its encode(to:)"
        }
        return "check the value of " + context.codingPath.place
    }
}
