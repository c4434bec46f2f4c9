import Foundation
import Synchronization

/// A note of a user.
struct StoredNote: Codable, Sendable {
    let id: Int
    var text: String
    /// The size of its picture in bytes; nil if it has none.
    var pictureBytes: Int?
}

/// The notes of all users, in memory.
final class NoteBook: Sendable {
    static let maximumPictureBytes = 4 << 20
    private static let maximumNotes = 100
    private static let maximumTextBytes = 4_096

    private struct Notes {
        var notes: [StoredNote] = []
        var pictures: [Int: Data] = [:]
    }

    private let books = Mutex<[String: Notes]>([:])

    /// The notes of a user, oldest first.
    func notes(of user: String) -> [StoredNote] { books.withLock { $0[user]?.notes ?? [] } }

    /// Adds a note; nil if it is too long or the user has too many.
    func add(_ text: String, of user: String) -> StoredNote? {
        guard text.utf8.count <= Self.maximumTextBytes else { return nil }
        return books.withLock { books in
            let notes = books[user]?.notes ?? []
            guard notes.count < Self.maximumNotes else { return nil }
            let note = StoredNote(id: (notes.last?.id ?? 0) + 1, text: text)
            books[user, default: Notes()].notes.append(note)
            return note
        }
    }

    /// Changes the text of a note; nil if the user has no such note, or the text is too long.
    func edit(_ id: Int, to text: String, of user: String) -> StoredNote? {
        guard text.utf8.count <= Self.maximumTextBytes else { return nil }
        return change(id, of: user) { notes, index in notes.notes[index].text = text }
    }

    /// Puts a picture on a note; nil if the user has no such note.
    func setPicture(_ picture: Data, on id: Int, of user: String) -> StoredNote? {
        change(id, of: user) { notes, index in
            notes.pictures[id] = picture
            notes.notes[index].pictureBytes = picture.count
        }
    }

    /// The picture of a note.
    func picture(of id: Int, of user: String) -> Data? { books.withLock { $0[user]?.pictures[id] } }

    private func change(_ id: Int, of user: String, _ body: (inout Notes, Int) -> Void) -> StoredNote? {
        books.withLock { books in
            guard var notes = books[user], let index = notes.notes.firstIndex(where: { $0.id == id }) else { return nil }
            body(&notes, index)
            books[user] = notes
            return notes.notes[index]
        }
    }
}
