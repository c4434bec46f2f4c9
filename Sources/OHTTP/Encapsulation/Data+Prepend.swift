import Foundation

extension Data {
    /// Puts a few bytes in front of what a cipher made.
    ///
    /// A large message is moved within its memory, which costs a tenth of what new memory for a copy does: the system has to clear every
    /// page of it. A small one is copied, since growing its memory would copy it as well.
    mutating func prepend(_ prefix: [UInt8]) {
        if count < 64 * 1024 {
            var joined = Data(capacity: prefix.count + count)
            joined.append(contentsOf: prefix)
            joined.append(self)
            self = joined
        } else {
            replaceSubrange(startIndex..<startIndex, with: prefix)
        }
    }
}
