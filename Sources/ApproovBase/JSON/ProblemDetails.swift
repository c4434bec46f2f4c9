/// Problem details that a server answers with (RFC 9457, section 3).
package struct ProblemDetails: Hashable, Sendable {
    /// The media type of problem details.
    package static let mediaType = "application/problem+json"

    /// The URI of the kind of problem; nil for `about:blank`, which says no more than the status.
    package var type: String?
    /// The HTTP status of the response.
    package var status: Int
    /// A title, the same for every problem of this kind.
    package var title: String
    /// What was wrong in this case and how to fix it.
    package var detail: String?

    package init(type: String? = nil, status: Int, title: String, detail: String? = nil) {
        self.type = type
        self.status = status
        self.title = title
        self.detail = detail
    }

    /// The JSON object with the members that have a value.
    package func serialized() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(128)
        func add(_ name: String, _ value: JSONValue?) {
            guard let value else { return }
            output.append(UInt8(ascii: output.isEmpty ? "{" : ","))
            JSONValue.string(name).write(to: &output)
            output.append(UInt8(ascii: ":"))
            value.write(to: &output)
        }
        add("type", type.map(JSONValue.string))
        add("status", .integer(Int64(status)))
        add("title", .string(title))
        add("detail", detail.map(JSONValue.string))
        output.append(UInt8(ascii: "}"))
        return output
    }
}
