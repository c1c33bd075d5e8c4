// Whether a pattern is a regular expression to ECMAScript, under each flag that
// clients in JavaScript compile it with. Go's tests try RE2.
const flags = ['', 'u', 'v'].filter((flag) => {
  try {
    return new RegExp('', flag)
  } catch {
    return false // v needs Node 20
  }
})

const problems = (pattern) => flags.flatMap((flag) => {
  try {
    new RegExp(pattern, flag)
    return []
  } catch (error) {
    return [{ message: `${error.message}, which is ECMAScript's verdict with the flag "${flag}"` }]
  }
})

export default problems
