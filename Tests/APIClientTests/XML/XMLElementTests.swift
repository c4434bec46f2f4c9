import APIClient
import Testing

// Acceptance list: S2.62
@Suite struct XMLElementTests {
    private static let cats = XMLElement(
        "cats", attributes: [.init("count", "2")],
        children: [
            .text("two: "), .element(XMLElement("cat", text: "fuzzy")), .text(" and "),
            .element(XMLElement("x:cat", children: [.text("flu"), .element(XMLElement("b", text: "ff")), .text("y")])),
        ])

    @Test("Children are found by name and by place, and text is joined in its order")
    func reading() {
        let cats = Self.cats
        #expect(cats["cat"]?.text == "fuzzy" && cats["x:cat"]?["b"]?.text == "ff" && cats["dog"] == nil)
        #expect(cats[1]?.name == "x:cat" && cats[1]?.localName == "cat" && cats[2] == nil && cats[-1] == nil)
        #expect(cats.elements(named: "cat").count == 1 && cats.elements.count == 2)
        #expect(cats.text == "two: fuzzy and fluffy" && cats[attribute: "count"] == "2" && cats[attribute: "none"] == nil)
    }

    @Test("Attributes are set in place, added at the end, and removed")
    func attributes() {
        var element = XMLElement("a", attributes: [.init("x", "1"), .init("y", "2")])
        element[attribute: "x"] = "3"
        element[attribute: "z"] = "4"
        element[attribute: "y"] = nil
        #expect(element.attributes == [.init("x", "3"), .init("z", "4")])
    }
}
