import Foundation
import Hummingbird

/// Adds the API's routes: each user sees and changes only their own notes.
func addNotes(to group: some RouterMethods<NotesContext>) {
    let book = NoteBook()
    group.get { _, context in try json(book.notes(of: context.requireUser())) }
    group.post { request, context in
        let text = try await request.decode(as: Text.self, context: context).text
        guard let note = try book.add(text, of: context.requireUser()) else { throw HTTPError(.contentTooLarge) }
        return try json(note, .created)
    }
    group.put(":id") { request, context in
        let text = try await request.decode(as: Text.self, context: context).text
        guard let note = try book.edit(context.parameters.require("id", as: Int.self), to: text, of: context.requireUser()) else {
            throw HTTPError(.notFound)
        }
        return try json(note)
    }
    group.put(":id/picture") { request, context in
        let picture = Data(buffer: try await request.body.collect(upTo: NoteBook.maximumPictureBytes))
        let id = try context.parameters.require("id", as: Int.self)
        guard let note = try book.setPicture(picture, on: id, of: context.requireUser()) else { throw HTTPError(.notFound) }
        return try json(note)
    }
    group.get(":id/picture") { _, context in
        guard let picture = try book.picture(of: context.parameters.require("id", as: Int.self), of: context.requireUser()) else {
            throw HTTPError(.notFound)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/octet-stream", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(data: picture)))
    }
}

/// The body of a request that writes a note.
private struct Text: Decodable {
    let text: String
}

private func json(_ value: some Encodable, _ status: HTTPResponse.Status = .ok) throws -> Response {
    Response(
        status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(data: try JSONEncoder().encode(value))))
}
