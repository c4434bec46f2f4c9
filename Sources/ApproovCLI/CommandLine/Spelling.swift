/// Finds the word that a misspelt one probably stands for.
enum Spelling {
    /// Returns the candidate most similar to a word.
    /// - Parameters:
    ///   - word: The misspelt word.
    ///   - candidates: The known words.
    /// - Returns: The candidate; nil when all are too different.
    static func nearest(to word: some StringProtocol, in candidates: some Sequence<String>) -> String? {
        let plain = bare(word)
        let ranked = candidates.map { (candidate: $0, distance: distance(plain, bare($0))) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        // One letter in three may be wrong; none in a word of one or two letters.
        return best.distance <= max(plain.count, bare(best.candidate).count) / 3 ? best.candidate : nil
    }

    /// The word in lower case, without leading dashes.
    private static func bare(_ word: some StringProtocol) -> [Character] { Array(word.drop { $0 == "-" }.lowercased()) }

    /// The number of letters added, left out, replaced, or swapped with their neighbour.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, letter) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var least = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other { least = min(least, rows[i - 1][j - 1] + 1) }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
