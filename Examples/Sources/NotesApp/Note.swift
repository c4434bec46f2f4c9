/// A note, as the API describes it.
struct Note: Decodable, Equatable, Sendable, CustomStringConvertible {
    let id: Int
    let text: String
    /// The size of its picture in bytes; nil if it has none.
    let pictureBytes: Int?

    /// One line for a terminal.
    var description: String { "\(id)  \(text)" + (pictureBytes.map { "  [picture, \($0) bytes]" } ?? "") }
}
