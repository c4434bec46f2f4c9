internal import ApproovBase
internal import HTTPTypes

extension HTTPFields {
    /// The members of a dictionary field, from all its lines in order.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - limit: The most bytes of one line.
    /// - Returns: The members; nil if the field is not there.
    /// - Throws: ``MessageSignatureError`` with code `malformedField` or `duplicateName`.
    func dictionary(_ name: HTTPField.Name, limit: Int = 16 * 1024) throws(MessageSignatureError) -> [StructuredFieldReader.Member]? {
        var members: [StructuredFieldReader.Member] = []
        var isFound = false
        for field in self where field.name == name {
            isFound = true
            let text = field.withUnsafeBytesOfValue { $0.count <= limit ? Array($0) : nil }
            do {
                guard let text else { throw StructuredFieldReader.Malformed() }
                var reader = StructuredFieldReader(text)
                try reader.readDictionary(into: &members)
            } catch is StructuredFieldReader.Duplicate {
                throw MessageSignatureError(.duplicateName, "\(name) has a member or a parameter twice")
            } catch {
                throw MessageSignatureError(.malformedField, "\(name) is not a dictionary, or is too long (RFC 9651, section 3.2)")
            }
        }
        return isFound ? members : nil
    }
}

extension HTTPField.Name {
    /// The name of a field that this module knows.
    init(known name: String) {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is a token") }
        self = name
    }
}
