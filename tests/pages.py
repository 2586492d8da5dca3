"""What a page shows, read by its selectors."""


def texts(page, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return page.execute_script(script, selector)


def rows(page, table):
    script = """return [...document.querySelectorAll(`[id="${arguments[0]}"] tbody tr`)]
        .map(row => [...row.children].map(cell => cell.textContent))"""
    return page.execute_script(script, table)
