// What may fail, and is said to the person then.

/** Does it. `say` is told the text of an error, and nothing is raised. */
export async function attempt(act, say) {
  try {
    await act()
  } catch (error) {
    say(error.message)
  }
}
