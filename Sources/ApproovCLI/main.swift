print("approov")
